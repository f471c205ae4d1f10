package torture

import (
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/pki"
	"github.com/netwright/netwright/test/vm"
)

const year = 365 * 24 * time.Hour

// A machine boots with a clock that is a year ahead. The clock is then set right, a year behind,
// and ahead again. The certificates of its store are of today. The agent reports a wrong clock, and
// what to do. It makes everything else right. What was right stays as it is, whatever its times
// are. What drifts is noticed although its times look as before, and a reset removes all of it.
//
// What keeps it: pkg/tasks/certificates_check.go check (expired, not valid yet) for those that are
// to be installed, pkg/certs/issue/expiring.go Ending for those in place,
// pkg/host/hostfs/stale_files.go leftover (staged in the future), pkg/ledger/stamps.go Lookup: a
// stamp has the inode's times and is not compared with now.
func TestClockIsAYearOff(t *testing.T) {
	if !full {
		t.Skip("boots a whole machine, minutes: make torture")
	}
	t.Parallel()
	needs.Root(t)
	ca := pki.New(t, "etcd")
	d := calicoDocuments(t, "v1", ca.PEM, ca.Client("calico-client"))
	d["cluster.yaml"] = strings.Replace(d["cluster.yaml"], "  networking:", extras("one", "128")+"  networking:", 1)
	store := t.TempDir()
	d.write(t, store)
	boots := vm.Run(t, vm.Options{
		Ahead:   year,
		Payload: map[string]string{"netwright": agent(t), "store": store},
		Boots: []string{`
			install -m 0755 netwright /usr/bin/netwright
			mkdir -p /etc/netwright; cp -r store /srv/netwright
			printf 'store: /srv/netwright\ncluster: ` + cluster + `\nnode: node-1\nprobeWindow: 2m\n' >/etc/netwright/agent.yaml
			systemctl -q disable --now systemd-networkd.socket systemd-networkd.service 2>&1 # where its settings change, probes go on for a third of the window
			year=31536000
			trap '[ $? = 0 ] || cat /tmp/said' EXIT
			shift_clock() { date -s "@$(($(date +%s) + $1))" >/dev/null; }
			now() { find /etc/motd.d /srv/kubernetes/lab.d /etc/sysctl.d/99-netwright.conf /opt/cni /srv/kubernetes /etc/systemd/system -printf '%p %m %T@ ' \( -type f -exec sha256sum {} \; -o -printf '\n' \) | sort; }
			is() { code=$1; shift; netwright "$@" >/tmp/said 2>&1 && got=0 || got=$?; [ $got = $code ] || { echo "netwright $*: exit $got, want $code"; cat /tmp/said; exit 1; }; }
			says() { grep -q "$1" /tmp/said || { echo "not said: $1"; cat /tmp/said; exit 1; }; }
			drift() { stamp=$(stat -c %y /srv/kubernetes/lab.d/one); chmod u+w /srv/kubernetes/lab.d/one; printf y >/srv/kubernetes/lab.d/one; chmod 0440 /srv/kubernetes/lab.d/one; touch -d "$stamp" /srv/kubernetes/lab.d/one; }

			[ $(date +%s) -gt $(($(date -r netwright +%s) + year / 2)) ] || { echo "the clock is right: $(date)"; exit 1; }
			is 1 --once; says 'expired on .* set the clock if it is wrong'
			[ $(cat /srv/kubernetes/lab.d/one) = x ]; test ! -e /srv/kubernetes/calico/calico-client-key.pem

			shift_clock -$year; : right, and every file is of the future
			is 0 --once
			test -s /srv/kubernetes/calico/calico-client-key.pem
			is 0 --once; says 'nothing to do'
			: >/srv/kubernetes/lab.d/.netwright-AAAAAAAAAA-00000001; drift
			is 0 --once; [ $(cat /srv/kubernetes/lab.d/one) = x ]; test ! -e /srv/kubernetes/lab.d/.netwright-AAAAAAAAAA-00000001
			now >/tmp/right

			shift_clock -$year; : behind
			is 0 --once; says 'check that the clock is right'
			now | diff /tmp/right -
			drift; is 0 --once; [ $(cat /srv/kubernetes/lab.d/one) = x ]
			sed -i 's/content: x}/content: z}/' /srv/netwright/` + cluster + `/cluster.yaml
			is 0 --once; [ $(cat /srv/kubernetes/lab.d/one) = z ]
			is 0 rollback 1; [ $(cat /srv/kubernetes/lab.d/one) = x ]
			is 0 resume; is 0 --once; [ $(cat /srv/kubernetes/lab.d/one) = z ]
			now >/tmp/right

			shift_clock $((2 * year)); : ahead again, with the certificates in place
			is 0 --once; says 'HAS EXPIRED on .* and is not removed.* set the clock if it is wrong'
			now | diff /tmp/right -

			shift_clock -$year
			is 0 --once; says 'nothing to do'
			is 0 history
			is 0 reset
			for path in /etc/motd.d/cluster /srv/kubernetes/lab.d /opt/cni /srv/kubernetes/calico /var/lib/netwright /etc/systemd/system/settle.service; do test ! -e $path || { echo "left: $path"; exit 1; }; done
			is 2 --dry-run
			echo all done`},
	})
	lost := 0
	if boots[0].State != "running" || !strings.Contains(boots[0].Output, "all done") {
		lost = 1
		t.Errorf("systemd is %s; the script printed:\n%s", boots[0].State, boots[0].Output)
	}
	report(t, "clock a year off", 1, lost, "a VM, ahead, right, behind, ahead")
}
