package tasks

import (
	"encoding/json"
	"slices"
	"testing"
)

// The pool is exhausted when each address has a file but the gateway's, which no pod gets. Files of
// host-local's own and addresses outside of the ranges do not count. A large range costs no more
// than its files. The lines that keep it: cni_conf_pool.go, Exhausted, full.
func TestPoolExhausted(t *testing.T) {
	two := []string{"10.0.0.2", "10.0.0.3", "lock", "last_reserved_ip.0", "10.0.0.9"}
	for name, c := range map[string]struct {
		ipam  string
		files []string
		dir   string // "": no pool
		taken []string
	}{
		"no subnet":                {`{"type":"host-local"}`, two, "", nil},
		"another plugin":           {`{"type":"dhcp"}`, two, "", nil},
		"one is left":              {`{"type":"host-local","subnet":"10.0.0.0/29"}`, two, "/var/lib/cni/networks/n", nil},
		"all":                      {`{"type":"host-local","subnet":"10.0.0.0/29","rangeEnd":"10.0.0.3"}`, two, "/var/lib/cni/networks/n", two[:2]},
		"the gateway is elsewhere": {`{"type":"host-local","subnet":"10.0.0.0/29","rangeStart":"10.0.0.2","rangeEnd":"10.0.0.4"}`, two, "/var/lib/cni/networks/n", nil},
		"a gateway of its own":     {`{"type":"host-local","subnet":"10.0.0.0/29","rangeStart":"10.0.0.2","rangeEnd":"10.0.0.4","gateway":"10.0.0.4"}`, two, "/var/lib/cni/networks/n", two[:2]},
		"one of two sets":          {`{"type":"host-local","dataDir":"/d","ranges":[[{"subnet":"fd00::/64"}],[{"subnet":"10.0.0.0/29","rangeEnd":"10.0.0.3"}]]}`, append([]string{"fd00::2"}, two...), "/d/n", two[:2]},
	} {
		conf := CNIConf{Name: "n", Plugins: []CNIPlugin{{Type: "portmap"}, {Type: "bridge", IPAM: json.RawMessage(c.ipam)}}}
		pool, ok := conf.Pool()
		if ok != (c.dir != "") || pool.Dir != c.dir {
			t.Errorf("%s: %v %+v, want %q", name, ok, pool, c.dir)
		}
		if got := pool.Exhausted(c.files); !slices.Equal(got, c.taken) {
			t.Errorf("%s: taken %q, want %q", name, got, c.taken)
		}
	}
}
