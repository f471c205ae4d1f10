package probe

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/cri"
)

func pod(name string, addresses ...string) cri.Pod {
	p := cri.Pod{Namespace: "default", Name: name, Ready: true, Running: []string{"web"}}
	for _, a := range addresses {
		p.Addresses = append(p.Addresses, netip.MustParseAddr(a))
	}
	return p
}

// The probes ask each pod that runs and has an address of its own, in each family. Of the pods that
// do not answer after the change, only those count that still run. The lines that keep it: pods.go,
// podEchoes, runs and firstRunning.
func TestWhichPodsAreAsked(t *testing.T) {
	ended, ending := pod("ended", "10.244.1.3"), pod("ending", "10.244.1.4")
	ended.Ready, ending.Running = false, nil
	pods := []cri.Pod{pod("host"), pod("web", "10.244.1.2", "fd00:10:244:1::2"), ended, ending, pod("db", "fd00:10:244:1::5")}
	for bits, want := range map[int][]Probe{32: {"ping:10.244.1.2"}, 128: {"ping:fd00:10:244:1::2", "ping:fd00:10:244:1::5"}} {
		if got := podEchoes(pods, bits); !slices.Equal(got, want) {
			t.Errorf("%d bits: %q, want %q", bits, got, want)
		}
	}
	for silent, want := range map[string]string{
		"10.244.1.2":       "pod default/web runs, but 10.244.1.2 does not answer",
		"fd00:10:244:1::5": "pod default/db runs, but fd00:10:244:1::5 does not answer",
		"10.244.1.3":       "", "10.244.1.4": "", "10.244.1.9": "",
	} {
		err := firstRunning(pods, []netip.Addr{netip.MustParseAddr("10.244.1.3"), netip.MustParseAddr(silent)})
		if got := errorText(err); got != want {
			t.Errorf("%s is silent: %q, want %q", silent, got, want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// If no runtime says which pods run, a pod that does not answer is no proof that the change is
// good. If no pod is left, pods prove nothing. The lines that keep it: pods.go, askPods (nobody
// says) and comparison.go, DropEnded.
func TestPodsOfWhichNobodySaysWhetherTheyRun(t *testing.T) {
	h, err := host.Open(t.Context(), host.Options{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	there := map[string]bool{"10.244.1.2": true}
	n := Prober{h, Means{Ping: func(_ context.Context, to netip.Addr) error {
		if there[to.String()] {
			return nil
		}
		return errors.New("silent")
	}}}
	const both = Probe("pods:10.244.1.2 10.244.1.3")
	if err := n.try(t.Context(), both); err == nil || !strings.HasPrefix(err.Error(), "10.244.1.3 does not answer, and it is not known whether its pod runs") {
		t.Errorf("with a pod that does not answer: %v", err)
	}
	j := &Comparison{Node: n, Evidence: &Evidence{Probes: []Probe{"dns:10.0.0.2", both}, MissingProofs: []string{"inbound"}}}
	j.DropEnded(t.Context())
	if len(j.Probes) != 2 || len(j.MissingProofs) != 1 {
		t.Errorf("one answers: proved by %q, not by %q", j.Probes, j.MissingProofs)
	}
	clear(there)
	j.DropEnded(t.Context())
	if !slices.Equal(j.Probes, []Probe{"dns:10.0.0.2"}) || !slices.Equal(j.MissingProofs, []string{"inbound", "pods"}) {
		t.Errorf("none answers: proved by %q, not by %q", j.Probes, j.MissingProofs)
	}
}
