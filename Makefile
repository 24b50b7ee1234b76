# plumb: what people type. Everything else is cargo.

.PHONY: test lint kernels soak head-to-head gates dist bench validate crosscheck xtask

# The chores, built from the same libraries as the tests: `--examples`, of which there is a small one, makes cargo count the
# features that tests ask for. `cargo run --package xtask` would compile serde and what depends on it once more.
XTASK = "$${CARGO_TARGET_DIR:-$(CURDIR)/target}/debug/xtask"
xtask:
	cargo build --locked --quiet --workspace --bin xtask --examples

# Installs whatever the tests need, then runs them all. TEST_OPTIONS=--record adds reruns to .ci/reruns.tsv.
test: xtask
	bash scripts/install-test-needs
	PLUMB="$${CARGO_TARGET_DIR:-$(CURDIR)/target}/debug/plumb" $(XTASK) test $(TEST_OPTIONS)

# Formatting, lints, the documentation of the code, what plumb uses of others, and what runs in the browser; as in CI.
# With clippy's own variables, and `--examples` as above, cargo doc reads what clippy has checked instead of checking all crates again.
lint: xtask
	bash scripts/install-lint-needs
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	RUSTC_WORKSPACE_WRAPPER="$$(rustc --print sysroot)/bin/clippy-driver" \
	CLIPPY_ARGS="-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__" RUSTDOCFLAGS="-D warnings" \
	cargo doc --locked --workspace --no-deps --lib --bins --examples
	$(XTASK) dependencies
	npm --prefix web run --silent lint

# The release assembly of timed loops, held against what each is to be; as in CI.
kernels: xtask
	$(XTASK) kernels

# The long tests: 100 kills, runs with and without a neighbour, dm-crypt and NFS in a guest, a knee and a network at known limits, builds of
# Linux, nodes of a Slurm cluster that fail, planted causes, and two hours of workloads compared with themselves; the results are docs/soak.md, docs/equals.md, docs/guest.md,
# docs/knee-storage.md, docs/limits-network.md, docs/compile-linux.md and docs/why-planted.md.
soak:
	bash scripts/install-test-needs
	cargo xtask soak --kills 100
	sed -n 's/^| `\(.*\)` |.*/--of \1/p' docs/equals.md | xargs "$${CARGO_TARGET_DIR:-$(CURDIR)/target}/release/plumb" doctor --audit
	bash scripts/guest "$${CARGO_TARGET_DIR:-$(CURDIR)/target}/release/plumb" docs/guest.md
	bash scripts/knee-storage "$${CARGO_TARGET_DIR:-$(CURDIR)/target}/release/plumb" docs/knee-storage.md
	bash scripts/limits-network "$${CARGO_TARGET_DIR:-$(CURDIR)/target}/release/plumb" docs/limits-network.md
	bash scripts/compile-linux "$${CARGO_TARGET_DIR:-$(CURDIR)/target}/release/plumb" docs/compile-linux.md
	bash scripts/slurm-failures "$${CARGO_TARGET_DIR:-$(CURDIR)/target}/release/plumb"
	bash scripts/why-planted "$${CARGO_TARGET_DIR:-$(CURDIR)/target}/release/plumb" docs/why-planted.md

# 50 minutes more of plumb against other tools; the result is docs/head-to-head.md. About 16 hours are wanted, all of one build:
# for another, move docs/head-to-head.jsonl away first.
head-to-head:
	bash scripts/install-test-needs
	cargo xtask headtohead --results docs/head-to-head.jsonl --minutes 50 --continue --write docs/head-to-head.md

# 50 minutes more of gates that prove themselves; the result is docs/gates.md.
gates:
	bash scripts/install-test-needs
	cargo xtask gates --results docs/gates.jsonl --minutes 50 --continue --write docs/gates.md

# The simulations of the statistics in full; the result is docs/validation.md.
validate:
	bash scripts/install-test-needs
	cargo xtask validate --write docs/validation.md

# plumb compared with the classic tools, in pairs; the result is docs/crosscheck.md. Run nothing else at the same time.
crosscheck:
	bash scripts/install-test-needs
	cargo build --locked --release --package plumb-cli
	target/release/plumb crosscheck --strict --markdown docs/crosscheck.md

# The benchmarks of plumb itself; the result is docs/performance.md.
bench:
	bash benches/run

# One static binary that runs on any x86-64 Linux.
dist:
	bash scripts/dist
