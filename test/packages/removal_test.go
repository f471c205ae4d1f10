package packages

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/program"
	"github.com/netwright/netwright/test/release"
	"github.com/netwright/netwright/test/rerun"
)

// onHost makes a root file system in memory over this machine's own. It has what a booted machine
// has, except systemd, which systemctl does not ask in a chroot. The real package managers work
// there, on files that no other program sees.
const onHost = `mount -t tmpfs tmpfs "$1"
cd "$1"
mkdir upper work root
mount -t overlay -o lowerdir=/,upperdir=upper,workdir=work overlay root
for dir in proc sys dev; do mount --rbind /$dir root/$dir; done
mount -t tmpfs tmpfs root/run
mkdir -p root/run/systemd/system root/tmp
rm -rf root/etc/netwright root/var/lib/netwright root/var/lib/man-db/auto-update
cp "$2" root/package
cp -r "$4" root/root/units
exec chroot root /bin/sh -euc "$3"
`

// manager says how a package manager installs, removes and knows a package, and how it goes on
// after it was killed in a script.
type manager struct{ install, purge, knows, again string }

var managers = map[string]manager{
	"deb": {"dpkg --install /package", "dpkg --purge netwright", "dpkg --status netwright | grep -q '^Status: .* ok installed$'", "dpkg --configure -a"},
	"rpm": {"rpm -i --nodeps /package", "rpm -e --nodeps netwright", "rpm -q netwright", "rpm -U --nodeps --replacepkgs /package"},
}

// removes runs a script for each package manager. A package is installed before it.
func removes(t *testing.T, script func(manager) string) {
	t.Helper()
	needs.Root(t)
	needs.Tool(t, "unshare", "chroot")
	units, err := filepath.Abs("../../systemd")
	if err != nil {
		t.Fatal(err)
	}
	for kind, m := range managers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			if needs.Tool(t, "dpkg"); kind == "rpm" {
				needs.Tool(t, "rpm")
			}
			file := release.Package(t, kind, "v1.0.0", runtime.GOARCH, program.Agent(t))
			cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "--net", "--", "/bin/sh", "-euc", onHost, "sh", t.TempDir(), file,
				"set -x; "+m.install+"\n"+script(m), units)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// A package whose undo fails stays, with the units that try again at the next boot, and its output
// says how to remove it all the same. The line that keeps it: `exit 1` in
// packaging/scripts/common.sh, halt.
func TestAPackageStaysWhoseUndoFails(t *testing.T) {
	t.Parallel()
	removes(t, func(m manager) string {
		return strings.NewReplacer("PURGE", m.purge, "KNOWS", m.knows).Replace(`
cd /var/lib && mkdir -p netwright/checkpoint && cd netwright/checkpoint
echo damaged >journal.json
systemctl --root=/ enable netwright-agent netwright-recover netwright-undo
links() { ls /etc/systemd/system/*.wants/netwright-*.service; }
before=$(links)
if PURGE >/said 2>&1; then echo 'it is removed'; exit 1; fi
cat /said
grep -q 'is not taken back' /said
KNOWS
test -x /usr/bin/agent
test "$(links)" = "$before"
$(grep '^ *mv ' /said)
PURGE
if KNOWS || [ -e /usr/bin/netwright ]; then exit 1; fi
`)
	})
}

// A purge also removes what user-data left: the unit that would install the agent again at the next
// boot, the daemon's proxy, and the preset of `agent install`. A person's own drop-in stays, and so
// does what a reset needs. The line that keeps it: rm in packaging/scripts/common.sh, forget.
func TestAPurgeTakesWhatUserDataLeft(t *testing.T) {
	t.Parallel()
	removes(t, func(m manager) string {
		return `
cd /etc/systemd/system
left() { find /etc/systemd /var/lib/netwright -name '*bootstrap*' -o -name netwright-agent.service.d -o -name '80-netwright.preset'; }
for own in '' own.conf; do
	mkdir -p netwright-agent.service.d multi-user.target.wants /var/lib/netwright/bootstrap ../system-preset
	touch ../system-preset/80-netwright.preset netwright-agent.service.d/10-bootstrap-proxy.conf netwright-bootstrap.service /var/lib/netwright/bootstrap/script
	ln -s ../netwright-bootstrap.service multi-user.target.wants/
	if [ -n "$own" ]; then
		touch netwright-agent.service.d/$own
		echo ledger >/var/lib/netwright/journal
	fi
	` + m.purge + `
	if [ -z "$own" ]; then
		test -z "$(left)"
		` + m.install + `
	fi
done
test "$(left)" = /etc/systemd/system/netwright-agent.service.d
ls netwright-agent.service.d/own.conf /var/lib/netwright/journal
`
	})
}

// A package manager is killed while the package takes the units of `agent install` over. When it
// goes on, it takes over the rest: no link leads to a unit that is gone. The line that keeps it: rm
// in packaging/scripts/common.sh, adopt.
func TestAKilledPackageTakesOverTheRest(t *testing.T) {
	t.Parallel()
	rerun.Never(t, "it kills the package manager")
	removes(t, func(m manager) string {
		return m.purge + `
cd /etc/systemd/system
mkdir -p multi-user.target.wants
for unit in agent recover undo; do
	cp /root/units/netwright-$unit.service .
	ln -s /etc/systemd/system/netwright-$unit.service multi-user.target.wants/
done
mv /usr/bin/ln /usr/bin/ln.real
cat >/usr/bin/ln <<'END'
#!/bin/sh
case "$*" in *wants/*) kill -9 $(ps -o ppid= -p $PPID) $PPID $$ ;; esac
exec ln.real "$@"
END
chmod +x /usr/bin/ln
if ` + m.install + `; then exit 1; fi
mv /usr/bin/ln.real /usr/bin/ln
` + m.again + `
test -z "$(find -L . -name 'netwright-*' -type l)"
test -z "$(find . -maxdepth 1 -name 'netwright-*.service')"
`
	})
}
