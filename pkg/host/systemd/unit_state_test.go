package systemd

import (
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"
)

func TestUnitPath(t *testing.T) {
	for name, want := range map[string]string{
		"dbus.service":      "dbus_2eservice",
		"a-b_c@1.mount":     "a_2db_5fc_401_2emount",
		"9p.service":        "_39p_2eservice",
		"sys-fs-bpf.mount":  "sys_2dfs_2dbpf_2emount",
		"x\\x20y.service":   "x_5cx20y_2eservice",
		"Caps_And_Ünits.so": "Caps_5fAnd_5f_c3_9cnits_2eso",
	} {
		if got := strings.TrimPrefix(string(unitPath(name)), "/org/freedesktop/systemd1/unit/"); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// If systemd refuses something about a unit, the error has the complete command that says why.
func TestExplainUnitNamesIt(t *testing.T) {
	for is, want := range map[string]string{
		"org.freedesktop.systemd1.BadUnitSetting": "`systemd-analyze verify x.service` says which line",
		"org.freedesktop.systemd1.UnitMasked":     "`systemctl unmask x.service`",
	} {
		err := explainUnit("x.service", dbus.Error{Name: is, Body: []any{"Unit x.service cannot be used."}})
		if !strings.Contains(err.Error(), "Unit x.service cannot be used.") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", is, err, want)
		}
	}
}

// A property that an older systemd does not have is absent, as InvocationID before 232.
func TestPropertyThatSystemdHasNot(t *testing.T) {
	var got []byte
	p := unitProperties{"InvocationID": dbus.MakeVariant([]byte{1})}
	if err := p.store("Other", &got); err == nil || got != nil {
		t.Errorf("read %v: %v", got, err)
	}
	if err := p.store("InvocationID", &got); err != nil || len(got) != 1 {
		t.Errorf("read %v: %v", got, err)
	}
}
