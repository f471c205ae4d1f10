package systemd

import (
	"strings"
	"testing"
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
