"""The Python SDK's client: lists the tools and calls one, and prints both as one line of JSON."""
import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters

mode, tool, arguments, *argv = sys.argv[1:]


async def main():
    server = StdioServerParameters(command=argv[0], args=argv[1:], env=dict(os.environ))
    async with Client(server, mode=mode) as client:
        tools = await client.list_tools()
        result = await client.call_tool(tool, json.loads(arguments))
        print(json.dumps([tools.model_dump(mode="json"), result.model_dump(mode="json")]))


asyncio.run(main())
