package migrate

import (
	"testing"

	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/desired"
)

func TestDeclaredNetworksAreToldApart(t *testing.T) {
	of := func(spec string) ledger.Network {
		d := wants(t, "custom: {title: t, "+spec+"}")
		return d.NetworkAfter(ledger.Network{})
	}
	a := of("conf: {writer: DaemonSet, file: 10-a.conflist}")
	b := of("conf: {writer: DaemonSet, file: 10-b.conflist}")
	for name, c := range map[string]struct {
		one, two ledger.Network
		want     bool
	}{
		"itself":                     {a, a, true},
		"another conf":               {a, b, false},
		"another conf, one name":     {of("name: weft, conf: {writer: DaemonSet, file: 10-a.conflist}"), of("name: weft, conf: {writer: DaemonSet, file: 10-b.conflist}"), true},
		"one conf, another name":     {of("name: weft, conf: {writer: user, file: 10-a.conflist}"), of("name: woof, conf: {writer: user, file: 10-a.conflist}"), false},
		"one that got its name":      {a, of("name: weft, conf: {writer: DaemonSet, file: 10-a.conflist}"), true},
		"other marks":                {a, of("conf: {writer: DaemonSet, file: 10-a.conflist}, leftovers: {files: [/etc/weft/]}"), true},
		"a ledger of before":         {ledger.Network{Name: "custom"}, b, true},
		"a ledger that says nothing": {ledger.Network{Name: "custom", Declared: "{"}, b, true},
		"one that is known":          {ledger.Network{Name: "calico"}, b, false},
	} {
		if got := desired.SameNetwork(c.one, c.two); got != c.want || desired.SameNetwork(c.two, c.one) != got {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Multus before a declared network is no mark of that network.
func TestMultusIsNotDeclared(t *testing.T) {
	d := wants(t, "custom: {title: t, conf: {writer: DaemonSet, file: 10-a.conflist}, leftovers: {files: [/etc/weft/]}}\n    multus: {}")
	got, err := desired.DeclaredOf(d.NetworkAfter(ledger.Network{}))
	if err != nil || len(got.Residue.Files) != 1 || len(got.Agents) != 0 || !d.NetworkAfter(ledger.Network{}).Multus {
		t.Errorf("DeclaredOf returns %+v, %v", got, err)
	}
}
