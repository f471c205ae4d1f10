package values

import "testing"

func TestParseVersion(t *testing.T) {
	for _, c := range []struct {
		in, want string
	}{
		{"1.31.2", "1.31.2"}, {"v1.31.2", "1.31.2"}, {"1.30", "1.30.0"}, {"1.24.0-alpha.1", "1.24.0"}, {"v1.30.4+k3s1", "1.30.4"}, {"1.30.4-gke.1+x-y", "1.30.4"},
		{"", ""}, {"1", ""}, {"1.2.3.4", ""}, {"1.x", ""}, {"1.-2", ""}, {"01.30.0", ""}, {"1.30.00", ""}, {"1.99999", ""}, {"1.+3", ""}, {" 1.30", ""},
	} {
		v, err := ParseVersion(c.in)
		if v.String() != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q: got %q, %v; want %q", c.in, v, err, c.want)
		}
	}
}

func TestAtLeast(t *testing.T) {
	v := Version{Major: 1, Minor: 24, Patch: 0}
	for _, c := range []struct {
		major, minor int
		want         bool
	}{{1, 23, true}, {1, 24, true}, {1, 25, false}, {0, 99, true}, {2, 0, false}} {
		if v.AtLeast(c.major, c.minor) != c.want {
			t.Errorf("%s at least %d.%d: want %t", v, c.major, c.minor, c.want)
		}
	}
}

func TestBefore(t *testing.T) {
	v := Version{Major: 4, Minor: 19, Patch: 57}
	for other, want := range map[Version]bool{
		{4, 19, 57}: false, {4, 19, 58}: true, {4, 19, 0}: false, {4, 20, 0}: true, {4, 9, 99}: false, {5, 0, 0}: true, {3, 99, 0}: false, {}: false,
	} {
		if v.Before(other) != want {
			t.Errorf("%s before %s: want %t", v, other, want)
		}
	}
}
