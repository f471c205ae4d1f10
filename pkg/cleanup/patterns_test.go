package cleanup

import "testing"

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"weave-*", "weave-k?Z;25^M}|1s7P3|H9i;*;MhG", true},
		{"weave-*", "weave-Rzff}h:=]JaaJl/G;(XJpGjZ[", true},
		{"weave-*", "weaver-no-masq-local", false},
		{"name: \"cni\" id: *", "name: \"cni\" id: \"a/b\"", true},
		{"tun-???", "tun-a/b", true},
		{"lxc[0-9a-f]", "lxcg", false},
		{"lxc[", "lxc[", false}, // not well formed
	} {
		if got := match(c.pattern, c.name); got != c.want {
			t.Errorf("match(%q, %q) is %v", c.pattern, c.name, got)
		}
	}
}
