#!/bin/bash
# Builds the poly root file system: what an agent needs to work on ordinary
# repositories (shell, git, make, C, Python, Node, Go) without any network.
#
#   build.sh OUTDIR   writes OUTDIR/rootfs.tar, OUTDIR/rootfs.tar.sha256 (hex)
#                     and OUTDIR/digest (sha256:hex)
#   build.sh --key    prints the cache key and builds nothing
#
# Packages come from the archive this machine itself is configured for (its apt
# sources); no host name stands here. Go and Node are copied from this machine,
# because the distribution's own are too old. The root holds no setuid bit, no
# device node, no apt list, no trace of this machine's sources or name; entries
# are sorted, owned by number and not newer than the fixed epoch below, so the
# same packages give the same bytes.
#
# Runs as root, or as a normal user in a user namespace (mmdebstrap's unshare
# mode). Exit: 0 built, 1 failed, 3 a tool is missing (stderr says which and how
# to get it), 64 usage.
set -euo pipefail
export LC_ALL=C
umask 022

readonly epoch=1700000000
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here

die() { printf 'poly: %s\n' "$1" >&2; exit "${2:-1}"; }
say() { printf 'poly: %s\n' "$1" >&2; }

packages() { sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$here/packages.txt" | sort -u; }

# need TOOL WHY: one missing tool is one clear sentence.
need() {
  command -v "$1" >/dev/null 2>&1 && return
  die "$1 is missing: $2. Without it, build images/poly/Dockerfile with any container builder." 3
}

# at_least NAME HAVE WANT compares dotted versions.
at_least() {
  [ "$(printf '%s\n%s\n' "$3" "$2" | sort -V | head -n 1)" = "$3" ] ||
    die "$1 $2 is too old for the poly image, it needs $3 or newer: update it and run this again" 3
}

find_toolchains() {
  need go "install Go 1.25 or newer"
  need node "install Node 20 or newer"
  need npm "install npm, it comes with Node"
  goroot=$(cd "$here" && go env GOROOT)
  gover=$("$goroot/bin/go" env GOVERSION)
  node=$(readlink -f "$(command -v node)")
  npm=$(readlink -f "$(command -v npm)")
  npm=${npm%/bin/npm-cli.js}
  [ -f "$npm/package.json" ] || die "npm at $(command -v npm) is not a plain npm package directory: install Node with npm from its own distribution" 3
  nodever=$("$node" --version)
  npmver=$("$node" -p "require('$npm/package.json').version")
  at_least Go "${gover#go}" 1.25
  at_least Node "${nodever#v}" 20
}

codename() { (. /etc/os-release && printf '%s' "${VERSION_CODENAME:-unknown}"); }

key() {
  {
    packages
    printf '%s\n' "$gover" "$nodever" "$npmver" "$(codename)" "$(uname -m)"
    cat "$here/build.sh"
  } | sha256sum | cut -c 1-32
}

# sources prints the machine's own archive entries for its own release; other
# repositories it may know (vendors' packages) do not belong into the image.
sources() {
  local name uri release component origin
  name=$(codename)
  apt-get indextargets 'Created-By: Packages' --format '$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)' |
    sort -u | while read -r uri release component origin; do
      case "$release" in "$name" | "$name-updates" | "$name-security") ;; *) continue ;; esac
      case "$component" in main | universe) ;; *) continue ;; esac
      case "$origin" in Debian | Ubuntu | '$(ORIGIN)') ;; *) continue ;; esac
      printf 'deb %s %s %s\n' "$uri" "$release" "$component"
    done
}

# apt_options passes on how this machine reaches its archive: proxies, mirrors
# with stale dates. Nothing of it stays in the image.
apt_options() { apt-config dump | grep -E '^Acquire::(https?|Check-[A-Za-z-]+|Retries)(::| )' || true; }

# finish runs as mmdebstrap's customize hook: ROOT GOROOT NODE NPM.
finish() {
  local root=$1 goroot=$2 node=$3 npm=$4
  mkdir -p "$root/usr/local/go" "$root/usr/local/bin" "$root/usr/local/lib/node_modules"
  tar -C "$goroot" --exclude=./test --exclude=./doc --exclude=./api --exclude=./misc --exclude=./.git -cf - . |
    tar -C "$root/usr/local/go" --no-same-owner -xf -
  cp "$node" "$root/usr/local/bin/node"
  cp -RL "$npm" "$root/usr/local/lib/node_modules/npm"
  chmod -R u+w,go-w "$root/usr/local"
  ln -sf ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
  ln -sf ../lib/node_modules/npm/bin/npx-cli.js "$root/usr/local/bin/npx"
  ln -sf ../go/bin/go ../go/bin/gofmt "$root/usr/local/bin/"
  [ -e "$root/usr/bin/python" ] || ln -s python3 "$root/usr/bin/python"

  # The person the sandbox runs as by default; another uid works as well.
  printf 'agent:x:65532:65532:agent:/home/agent:/bin/bash\n' >>"$root/etc/passwd"
  printf 'agent:x:65532:\n' >>"$root/etc/group"
  printf '127.0.0.1 localhost\n::1 localhost\n' >"$root/etc/hosts"
  rm -f "$root/etc/resolv.conf" "$root/etc/hostname" "$root/etc/machine-id"
  : >"$root/etc/resolv.conf"
  : >"$root/etc/machine-id"
  # git refuses a tree of another owner; in the sandbox every tree is the agent's.
  printf '[safe]\n\tdirectory = *\n[init]\n\tdefaultBranch = main\n' >"$root/etc/gitconfig"

  rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/* "$root"/var/log/* "$root"/var/lib/dpkg/*-old \
    "$root"/etc/apt/sources.list "$root"/etc/apt/sources.list.d/* "$root"/etc/apt/apt.conf.d/99mmdebstrap \
    "$root"/etc/dpkg/dpkg.cfg.d/99mmdebstrap
  # Compiled by the package manager's own tools, and not the same every time.
  find "$root/usr/share/python3" "$root/usr/lib/python3/dist-packages/_distutils_hack" \
    -name __pycache__ -prune -exec rm -rf {} +
  find "$root" -xdev -perm /6000 \( -type f -o -type d \) -exec chmod a-s {} +

  # What was copied must run on this root's own libraries.
  chroot "$root" /usr/local/bin/node --version >/dev/null ||
    die "the Node of this machine needs libraries the image does not have: install a self-contained Node 20 or newer"
  chroot "$root" /usr/bin/env GOTOOLCHAIN=local HOME=/tmp /usr/local/bin/go version >/dev/null ||
    die "the Go of this machine does not run inside the image"
  rm -rf "$root/tmp/.config" "$root/tmp/.cache"
}

# unpack installs the packages LIST into $work/rootfs.tar.
unpack() {
  SOURCE_DATE_EPOCH=$epoch TMPDIR=${TMPDIR:-/tmp} mmdebstrap --quiet --mode=auto --variant=essential \
    --format=tar --skip=output/dev --include="$1" --aptopt="$work/apt.conf" \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/info/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --customize-hook="exec bash '$here/build.sh' --finish \"\$1\" '$goroot' '$node' '$npm'" \
    "$(codename)" "$work/rootfs.tar" - <"$work/sources.list"
}

# mount_points appends what drivers mount over: mmdebstrap empties /run and
# leaves /dev out.
mount_points() {
  local dir=$work/points
  mkdir -p "$dir/dev" "$dir/work" "$dir/run/moeca" "$dir/home/agent"
  tar --append --file="$1" --directory="$dir" --format=gnu --no-recursion --numeric-owner --owner=0 --group=0 \
    --mtime="@$epoch" ./dev ./work ./run/moeca ./home/agent
}

# check_tar refuses a root with anything in it that policy forbids, or that an
# engine does: the same path twice.
check_tar() {
  local bad
  bad=$(tar -tf "$1" | sed 's#/$##' | sort | uniq -d | head -n 3)
  [ -z "$bad" ] || die "the root file system names a path twice: $bad"
  bad=$(tar --numeric-owner -tvf "$1" | grep -E '^([bcp]|...[sS]|......[sS])' | head -n 3 || true)
  [ -z "$bad" ] || die "the root file system holds a setuid file or a device: $bad"
}

build() {
  local out=$1 list
  need mmdebstrap "on Debian or Ubuntu: apt-get install mmdebstrap (scripts/setup does it)"
  need apt-get "the package archive is read from this machine's apt sources"
  mkdir -p "$out"
  out=$(cd "$out" && pwd)
  work=$(mktemp -d "$out/.build.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  sources >"$work/sources.list"
  [ -s "$work/sources.list" ] || die "this machine's apt sources name no archive for $(codename): build images/poly/Dockerfile instead" 3
  apt_options >"$work/apt.conf"
  list=$(packages | paste -sd, -)
  say "downloading and unpacking packages (a few minutes)"
  # An archive that stumbles once is common; one that fails three times is not.
  local try
  for try in 1 2 3; do
    rm -f "$work/rootfs.tar"
    if unpack "$list"; then break; fi
    [ "$try" -lt 3 ] || die "the packages could not be installed; what mmdebstrap said is above"
    say "that failed; trying again ($try of 2)"
  done
  mount_points "$work/rootfs.tar"
  check_tar "$work/rootfs.tar"
  say "hashing"
  sha256sum "$work/rootfs.tar" | cut -d ' ' -f 1 >"$work/rootfs.tar.sha256"
  printf 'sha256:%s\n' "$(cat "$work/rootfs.tar.sha256")" >"$work/digest"
  mv "$work/rootfs.tar" "$work/rootfs.tar.sha256" "$work/digest" "$out/"
  say "done: $(cat "$out/digest")"
}

case "${1:-}" in
--key)
  find_toolchains
  key
  ;;
--finish)
  [ $# -eq 5 ] || die "usage: build.sh --finish ROOT GOROOT NODE NPM" 64
  finish "$2" "$3" "$4" "$5"
  ;;
'' | -*)
  die "usage: build.sh OUTDIR | build.sh --key" 64
  ;;
*)
  find_toolchains
  build "$1"
  ;;
esac
