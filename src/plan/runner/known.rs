//! The runners that are known, and their flags as their own help lists them: data.

/// How packages and their versions are written.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Npm,
    PyPi,
    Go,
    Deno,
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
    further: "-w --with",
    loose: "--with-requirements --with-editable",
    offline: "--offline",
    reads_on: false,
};

/// In any order: no two have the same words.
pub(super) const RUNNERS: &[Known] = &[
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
        further: "",
        loose: "",
        offline: "--cached-only --no-remote",
        reads_on: false,
    },
];
