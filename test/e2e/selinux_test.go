package e2e

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/vm"
)

// labels has functions that print two lists. The first has the files since /root/before whose label
// restorecon would change. The second has what this boot denied and had not denied before the agent
// came, since each boot denies some accesses to Debian's own daemons.
const labels = `
denied() {
	journalctl --sync
	journalctl -b -q -o cat --no-pager _TRANSPORT=audit | grep denied | sed 's/ \(pid\|ino\)=[0-9]*//g; s/^.*denied/denied/' | sort -u
}
made() { find /etc /opt /srv /usr /var /run -newercm /root/before | grep -Ev '^/var/(log|tmp|cache|lib/(systemd|lab-boot))|^/run/(systemd|udev)|^/etc/netwright/agent.yaml$'; }
right() {
	echo "$1: $(made | wc -l) were made"
	made | restorecon -nvf - 2>&1 | grep -v 'no default label\|No such file or directory' | sed 's/^/wrong: /'
	denied | comm -13 /root/denied - | sed 's/^/denied: /' || true
}
`

// policy returns the module for Debian's policy from docs/security.md.
func policy(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	module := regexp.MustCompile(`(?m)^    (\(allow .*\))$`).FindSubmatch(page)
	if module == nil {
		t.Fatal("docs/security.md has no module of a policy")
	}
	return string(module[1]) + "\n"
}

// On a machine that enforces its policy, each file of the agent has the label that restorecon would
// give it, and nothing is denied. This holds when the agent is installed, converges, repairs,
// changes, rolls back and resets.
func TestSELinux(t *testing.T) {
	t.Parallel()
	images(t)
	spec := strings.Replace(bridgeSpec, "    bridge: {}\n", "    bridge: {}\n    cni: {binDir: /opt/cni/bin}\n", 1)
	s := newStore(t, spec, nil)
	path, text := nodeDocument("node-1", "10.0.2.15", "[10.244.1.0/24]")
	s.write(t, path, text)
	s.write(t, "cluster.yaml", document("Cluster", cluster, spec+"  fileAssets:\n  - {name: allowed, path: /etc/hosts.allow.netwright, content: x}\n"+s.pluginSpec(t)))
	boot := vm.Run(t, vm.Options{Policy: policy(t), Payload: map[string]string{"netwright": agent(t), "store": s.dir}, Boots: []string{labels + `
test "$(cat /sys/fs/selinux/enforce)" = 1
cp netwright /root/netwright; cp -r store /srv/netwright; mkdir -p /etc/netwright
printf 'store: /srv/netwright\ncluster: ` + cluster + `\nnode: node-1\nprobeWindow: 5m\n' >/etc/netwright/agent.yaml
denied >/root/denied; touch /root/before; sleep 1.1
/root/netwright install --start=false >/dev/null
right installed
made | xargs -r ls -dZ >/root/labels
netwright --dry-run >/dev/null && exit 1 || test $? = 2
made | xargs -r ls -dZ | diff /root/labels -
systemctl start netwright-agent
until netwright status >/dev/null; do sleep 5; done
echo "domain: $(tr -d '\0' </proc/$(systemctl show -P MainPID netwright-agent)/attr/current)"
right converged
ls -dZ /etc/systemd/system/netwright-agent.service /etc/hosts.allow.netwright /opt/cni /opt/cni/bin /opt/cni/bin/bridge
# A label of somebody else's stays when the file is replaced.
chcon -t etc_runtime_t /etc/hosts.allow.netwright; echo drift >>/etc/hosts.allow.netwright; sysctl -qw net.ipv4.ip_forward=0
while grep -q drift /etc/hosts.allow.netwright || [ "$(sysctl -n net.ipv4.ip_forward)" != 1 ]; do sleep 1; done
echo "kept: $(stat -c %C /etc/hosts.allow.netwright)"
restorecon /etc/hosts.allow.netwright
right repaired
sed -i 's/content: x/content: y/' /srv/netwright/` + cluster + `/cluster.yaml
netwright --once >/dev/null
grep -qx y /etc/hosts.allow.netwright
netwright rollback >/dev/null
grep -qx x /etc/hosts.allow.netwright
right back
netwright reset >/dev/null
test ! -e /opt/cni/bin/bridge
right reset
`}})[0]
	for _, want := range []string{`installed: \d+ were made`, `reset: \d+ were made`, `domain: system_u:system_r:initrc_t:s0`, `:bin_t:s0 /opt/cni/bin/bridge`,
		`:bin_t:s0 /opt/cni/bin\n`, `:usr_t:s0 /opt/cni\n`, `:systemd_unit_t:s0 /etc/systemd`, `:net_conf_t:s0 /etc/hosts.allow`, `kept: .*:etc_runtime_t:s0`} {
		if !regexp.MustCompile(want).MatchString(boot.Output) {
			t.Errorf("the machine does not say %s", want)
		}
	}
	if regexp.MustCompile(`(?m)^(wrong|denied): `).MatchString(boot.Output) {
		t.Error("labels are wrong, or something was denied")
	}
	t.Log(boot.Output)
}
