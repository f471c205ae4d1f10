package document

import (
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"address", "assets", "bridge", "calico", "mtu", "nodes", "podCIDRs"}
	for _, c := range []struct{ in, want string }{
		{"adress", "address"}, {"mtuu", "mtu"}, {"MTU", "mtu"}, {"utm", "mtu"}, {"umt", "mtu"}, {"podCidr", "podCIDRs"}, {"brigde", "bridge"}, {"x", ""}, {"", ""}, {"kubernetesVersion", ""},
	} {
		if got := Nearest(c.in, names); got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}

func TestMaskURLs(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"https://example.com/a@b", "https://example.com/a@b"},
		{"[https://me:x@example.com, s3://é@b]", "[https://****@example.com, s3://*@b]"},
		{"https://a:p@ss@example.com", "https://******@example.com"},
		{"x://", "x://"},
		{`urls: ["https://é:p@b/x?sig=é&t=1", "s3://b/c?"], why: is it?`, `urls: ["https://***@b/x?*********", "s3://b/c?"], why: is it?`},
	} {
		if got := MaskURLs(c.in); got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}

// U+FFFD itself is text. Only a byte that is no UTF-8 decodes to it without being it.
func TestBadByte(t *testing.T) {
	for text, want := range map[string]int{"a: \ufffd\tb\n": -1, "a: \ufffd\xff": 6, "a\x1b\xff": 1, "é\x7f": 2, "": -1} {
		if got := badByte(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
