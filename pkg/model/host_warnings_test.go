package model

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/facts"
)

// TestUFWIsWarnedOf: a warning names a firewall that drops packets of pods, with the commands that
// allow these packets, unless the documents stop the firewall. The line that keeps it:
// host_warnings.go, sharedWarnings
func TestUFWIsWarnedOf(t *testing.T) {
	for _, c := range []struct {
		state facts.ServiceState
		hook  extras.Hook
		want  string
	}{
		{facts.ServiceEnabled, extras.Hook{}, "ufw route allow from 10.244.0.0/16 && ufw route allow to 10.244.0.0/16 && ufw allow from 10.244.0.0/16`"},
		{facts.ServiceEnabled, extras.Hook{Name: "ufw.service"}, ""},
		{facts.ServiceInstalled, extras.Hook{}, ""},
	} {
		in := of(t, "{calico: {}}", func(f *host.Facts, n *config.Node) {
			f.Services = map[string]facts.ServiceState{"ufw.service": c.state}
			n.PodCIDR, n.Hooks = []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}, []extras.Hook{c.hook}
		})
		_, notes, err := Build(in)
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		for _, n := range notes {
			if strings.Contains(n.Text, "ufw") {
				said += n.Text
			}
		}
		if (said != "") != (c.want != "") || !strings.Contains(said, c.want) {
			t.Errorf("%s, %+v: %q, want %q", c.state, c.hook, said, c.want)
		}
	}
}
