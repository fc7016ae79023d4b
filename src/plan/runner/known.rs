//! The runners that are known, and their flags as their own help lists them: data.

/// How packages and their versions are written.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Npm,
    PyPi,
    Go,
    Deno,
    /// What a project on disk says: its scripts, its environment.
    Project {
        /// Whether it fetches what the project depends on.
        fetches: bool,
    },
}

/// What is known of one runner. Flags are lists of words.
pub(super) struct Known {
    pub(super) name: &'static str,
    /// The program, and the words that follow it.
    pub(super) words: &'static [&'static str],
    pub(super) kind: Kind,
    /// Flags that stand alone.
    pub(super) alone: &'static str,
    /// Flags that take the next word.
    pub(super) takes: &'static str,
    /// Flags that take the package to run.
    pub(super) package: &'static str,
    /// Flags that take the project to run in.
    pub(super) project: &'static str,
    /// Flags that take a further package.
    pub(super) further: &'static str,
    /// Flags that take the next word and leave open what runs.
    pub(super) loose: &'static str,
    /// Flags that stand alone and forbid to fetch.
    pub(super) offline: &'static str,
    /// Whether flags behind the package are the runner's too, up to `--`.
    pub(super) reads_on: bool,
}

const NPX: Known = Known {
    name: "npx",
    words: &["npx"],
    kind: Kind::Npm,
    alone: "-y --yes -q --quiet -s --silent -d --verbose --ignore-existing --prefer-offline \
            --prefer-online --ignore-scripts --no-audit --no-fund --no-update-notifier \
            --foreground-scripts --legacy-peer-deps --strict-ssl --workspaces \
            --include-workspace-root --strict-allow-scripts --dangerously-allow-all-scripts",
    takes: "-c --call --registry --cache --userconfig --globalconfig --prefix --loglevel \
            --script-shell -w --workspace --node-options --cafile --fetch-timeout --before \
            --allow-scripts",
    package: "-p --package",
    project: "",
    further: "",
    loose: "",
    offline: "--no --no-install --offline",
    reads_on: false,
};

const BUNX: Known = Known {
    name: "bunx",
    words: &["bunx"],
    alone: "--bun --verbose --silent -y --yes",
    takes: "",
    ..NPX
};

const PNPM_DLX: Known = Known {
    name: "pnpm dlx",
    words: &["pnpm", "dlx"],
    alone: "-c --shell-mode -s --silent",
    takes: "--allow-build --reporter --registry -C --dir --loglevel --store-dir --cpu --libc --os",
    package: "--package",
    offline: "--offline",
    ..NPX
};

const UVX: Known = Known {
    name: "uvx",
    words: &["uvx"],
    kind: Kind::PyPi,
    alone: "-q --quiet -v --verbose -n --no-cache --isolated --refresh -U --upgrade --reinstall \
            --native-tls --system-certs --managed-python --no-managed-python --no-python-downloads \
            --no-progress --no-config --no-env-file --no-build --no-binary --no-index \
            --no-build-isolation --compile-bytecode --no-sources --lfs",
    takes: "-p --python -i --index-url --index --default-index --extra-index-url -f --find-links \
            --index-strategy --keyring-provider --resolution --prerelease --fork-strategy \
            --exclude-newer --exclude-newer-package --link-mode --cache-dir --config-file \
            --directory --project --color --allow-insecure-host --env-file --torch-backend \
            --python-platform -b --build-constraints -c --constraints --overrides \
            --no-build-package --no-binary-package --no-build-isolation-package -C \
            --config-setting --config-settings-package --refresh-package --reinstall-package \
            -P --upgrade-package --no-sources-package",
    package: "--from",
    project: "",
    further: "-w --with",
    loose: "--with-requirements --with-editable",
    offline: "--offline",
    reads_on: false,
};

/// The scripts of a package of Node.
const NPM_RUN: Known = Known {
    name: "npm run",
    words: &["npm", "run"],
    kind: Kind::Project { fetches: false },
    alone: "-s --silent -q --quiet -d --verbose --if-present --ignore-scripts --workspaces -ws \
            --include-workspace-root --foreground-scripts",
    takes: "-w --workspace --loglevel --script-shell --node-options --userconfig --globalconfig \
            --cache",
    package: "",
    project: "--prefix -C",
    offline: "",
    reads_on: true,
    ..NPX
};

const PNPM_RUN: Known = Known {
    name: "pnpm run",
    words: &["pnpm", "run"],
    alone: "-s --silent --if-present -r --recursive --parallel --stream -w --workspace-root",
    takes: "-F --filter --reporter --loglevel",
    project: "-C --dir --prefix",
    reads_on: false,
    ..NPM_RUN
};

const YARN_RUN: Known = Known {
    name: "yarn run",
    words: &["yarn", "run"],
    alone: "-s --silent -q --quiet -T --top-level -B --binaries-only",
    takes: "",
    project: "--cwd",
    reads_on: false,
    ..NPM_RUN
};

/// A project of Python, or a script, with an environment that uv makes for it.
const UV_RUN: Known = Known {
    name: "uv run",
    words: &["uv", "run"],
    kind: Kind::Project { fetches: true },
    alone: "-q --quiet -v --verbose -n --no-cache --isolated --refresh -U --upgrade --reinstall \
            --native-tls --system-certs --managed-python --no-managed-python --no-python-downloads \
            --no-progress --no-config --no-env-file --no-build --no-binary --no-index \
            --no-build-isolation --compile-bytecode --no-sources --all-extras --no-dev --dev \
            --only-dev --no-default-groups --all-groups --no-editable --exact --no-sync --locked \
            --frozen --active --all-packages --no-project -s --script --gui-script -m --module \
            --inexact",
    takes: "-p --python -i --index-url --index --default-index --extra-index-url -f --find-links \
            --index-strategy --keyring-provider --resolution --prerelease --fork-strategy \
            --exclude-newer --link-mode --cache-dir --config-file --color --allow-insecure-host \
            --env-file --extra --no-extra --group --no-group --only-group --package \
            --python-platform --no-build-package --no-binary-package -C --config-setting \
            --refresh-package --reinstall-package -P --upgrade-package",
    package: "",
    project: "--directory --project",
    ..UVX
};

/// In any order: no two have the same words.
pub(super) const RUNNERS: &[Known] = &[
    NPM_RUN,
    Known {
        words: &["npm", "run-script"],
        ..NPM_RUN
    },
    Known {
        name: "npm start",
        words: &["npm", "start"],
        ..NPM_RUN
    },
    PNPM_RUN,
    Known {
        name: "pnpm start",
        words: &["pnpm", "start"],
        ..PNPM_RUN
    },
    YARN_RUN,
    Known {
        name: "yarn start",
        words: &["yarn", "start"],
        ..YARN_RUN
    },
    Known {
        name: "bun run",
        words: &["bun", "run"],
        alone: "--silent --bun -b --if-present --smol --hot --watch",
        takes: "--filter -F --env-file -c --config -r --preload",
        project: "--cwd",
        reads_on: false,
        ..NPM_RUN
    },
    Known {
        name: "deno task",
        words: &["deno", "task"],
        alone: "-q --quiet -r --recursive",
        takes: "-c --config -f --filter",
        project: "--cwd",
        reads_on: false,
        ..NPM_RUN
    },
    Known {
        name: "poetry run",
        words: &["poetry", "run"],
        alone: "-q --quiet -n --no-interaction --no-ansi --no-plugins --no-cache",
        takes: "",
        project: "-C --directory -P --project",
        reads_on: false,
        ..NPM_RUN
    },
    Known {
        name: "pdm run",
        words: &["pdm", "run"],
        alone: "-q --quiet -v --verbose -s --site-packages -n --non-interactive",
        takes: "-e --env-file --venv",
        project: "-p --project",
        reads_on: false,
        ..NPM_RUN
    },
    Known {
        name: "cargo run",
        words: &["cargo", "run"],
        kind: Kind::Project { fetches: true },
        alone: "-q --quiet -v --verbose -r --release --all-features --no-default-features --locked \
                --frozen --ignore-rust-version",
        takes: "--bin --example -p --package -F --features --profile --target --target-dir --color \
                -j --jobs --config -Z --message-format",
        project: "--manifest-path -C",
        offline: "--offline",
        reads_on: false,
        ..NPM_RUN
    },
    Known {
        name: "dotnet run",
        words: &["dotnet", "run"],
        alone: "--no-build --no-restore --no-launch-profile --no-dependencies",
        takes: "-c --configuration -f --framework -r --runtime --launch-profile -v --verbosity",
        project: "--project",
        reads_on: false,
        ..NPM_RUN
    },
    UV_RUN,
    NPX,
    Known {
        name: "npm exec",
        words: &["npm", "exec"],
        reads_on: true,
        ..NPX
    },
    Known {
        name: "npm exec",
        words: &["npm", "x"],
        reads_on: true,
        ..NPX
    },
    BUNX,
    Known {
        words: &["bun", "x"],
        ..BUNX
    },
    PNPM_DLX,
    Known {
        words: &["pnpx"],
        ..PNPM_DLX
    },
    Known {
        name: "yarn dlx",
        words: &["yarn", "dlx"],
        alone: "-q --quiet",
        takes: "",
        offline: "",
        ..NPX
    },
    UVX,
    Known {
        name: "uv tool run",
        words: &["uv", "tool", "run"],
        ..UVX
    },
    Known {
        name: "pipx run",
        words: &["pipx", "run"],
        alone: "-q --quiet -v --verbose --no-cache --fetch-missing-python --system-site-packages \
                --path --pypackages",
        takes: "--python --pip-args -i --index-url --backend",
        package: "--spec",
        further: "--with",
        loose: "-e --editable",
        offline: "",
        ..UVX
    },
    Known {
        name: "go run",
        words: &["go", "run"],
        kind: Kind::Go,
        alone: "-a -n -race -msan -asan -cover -v -work -x -trimpath -modcacherw -linkshared",
        takes: "-C -p -exec -mod -modfile -tags -ldflags -gcflags -asmflags -gccgoflags -buildmode \
                -buildvcs -compiler -covermode -coverpkg -installsuffix -overlay -pgo -pkgdir -toolexec",
        package: "",
        project: "",
        further: "",
        loose: "",
        offline: "",
        reads_on: false,
    },
    Known {
        name: "deno run",
        words: &["deno", "run"],
        kind: Kind::Deno,
        alone: "-A --allow-all -R --allow-read -W --allow-write -N --allow-net -E --allow-env -S \
                --allow-sys --allow-run --allow-ffi -I --allow-import --deny-read --deny-write \
                --deny-net --deny-env --deny-sys --deny-run --deny-ffi --deny-import --no-prompt \
                -q --quiet -r --reload --no-check --check --no-lock --no-config --no-npm --frozen \
                --node-modules-dir --allow-scripts --no-code-cache --vendor --inspect --inspect-brk \
                --inspect-wait",
        takes: "-c --config --import-map --lock --cert -L --log-level --seed --location --ext \
                --v8-flags --preload",
        package: "",
        project: "",
        further: "",
        loose: "",
        offline: "--cached-only --no-remote",
        reads_on: false,
    },
];
