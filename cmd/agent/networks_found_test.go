package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/needs"
)

func TestNetworksFoundSaysWhatIsThereAndWhatItDidNotLookFor(t *testing.T) {
	needs.Root(t)
	needs.Tool(t, "ip")
	onHost(t, func() {
		for _, args := range []string{"link add cni0 type bridge", "link add cni1 type bridge", "link add vethx type veth peer name vethy", "link set vethx master cni0"} {
			if out, err := exec.Command(needs.Path("ip"), strings.Fields(args)...).CombinedOutput(); err != nil {
				t.Errorf("ip %s: %v\n%s", args, err, out)
			}
		}
		cmd := exec.Command("agent", "networks", "--found", "flannel")
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		want := "flannel    link:vethx  (veth, down, port of cni0)\nflannel    link:cni0  (bridge, down)\n"
		if err != nil || string(out) != want {
			t.Errorf("%v:\n%swant\n%s", err, out, want)
		}
		if !strings.Contains(said.String(), "are not looked for") {
			t.Errorf("without documents it is silent about the marks of pods: %q", said.String())
		}
		ip := func(args string) {
			if out, err := exec.Command(needs.Path("ip"), strings.Fields(args)...).CombinedOutput(); err != nil {
				t.Errorf("ip %s: %v\n%s", args, err, out)
			}
		}
		ip("link add flannel.1 type vxlan id 1 dev lo dstport 8472")
		ip("link add kube-bridge type bridge")
		out, err = exec.Command("agent", "networks", "--found").Output()
		lines := strings.Split(string(out), "\n")
		if head := "canal or flannel, which nothing here tells apart"; err != nil || !strings.Contains(lines[0], head) || strings.Count(string(out), "link:flannel.1") != 1 {
			t.Errorf("%v: no verdict, or a thing twice:\n%s", err, out)
		}
	})
}
