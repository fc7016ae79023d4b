"""A Python client lists the tools and calls one, and prints both as one line of JSON.

    client.py mcp|fastmcp legacy|auto TOOL ARGUMENTS PROGRAM [ARGUMENT]...
"""
import asyncio
import json
import os
import sys

library, mode, tool, arguments, *argv = sys.argv[1:]


def client():
    if library == "fastmcp":
        from fastmcp import Client
        from fastmcp.client.transports import StdioTransport

        server = StdioTransport(argv[0], argv[1:], env=dict(os.environ), keep_alive=False)
        return Client(server, mode=mode)
    from mcp import Client, StdioServerParameters

    server = StdioServerParameters(command=argv[0], args=argv[1:], env=dict(os.environ))
    return Client(server, mode=mode)


def plain(value):
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, list):
        return [plain(one) for one in value]
    return {"content": plain(value.content), "is_error": value.is_error}


async def main():
    async with client() as session:
        tools = await session.list_tools()
        result = await session.call_tool(tool, json.loads(arguments))
        print(json.dumps([plain(tools), plain(result)]))


asyncio.run(main())
