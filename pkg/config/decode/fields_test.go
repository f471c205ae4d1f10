package decode

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/values"
)

// read reads a document with one decoder into fields, and returns the decoder.
func read(t *testing.T, text string, dialect *Dialect, origins Origins, fields ...Field) *Decoder {
	t.Helper()
	d := &Decoder{Doc: NewDoc(document.Source{Path: "a.yaml", Data: []byte(text)}), Origins: origins}
	d.Doc.Dialect = dialect
	if d.Doc.Parse(); d.Doc.Root == nil {
		t.Fatalf("%s: %s", text, d.Doc.Diags)
	}
	d.At(d.Doc.Root, "").Mapping(fields)
	return d
}

// Each field accepts the values at its limits, and refuses what is next to them.
func TestTheLimitsOfFields(t *testing.T) {
	long := strings.Repeat(strings.Repeat("a", 63)+".", 4)
	text := func(valid func(string) string) Field { var s string; return Text("f", &s, valid) }
	for name, c := range map[string]struct {
		field  Field
		takes  []string
		refuse []string
	}{
		"addresses": {Addresses("f", new(values.Addresses)), []string{"10.0.0.1", `"10.0.0.1,fd00::1"`},
			[]string{`"10.0.0.1,10.0.0.2"`, `"fd00::1,fd00::2"`, `"10.0.0.1,fd00::1,10.0.0.2"`, "[10.0.0.1]"}},
		"each address": {EachAddress("f", new([]netip.Addr)), []string{"[10.0.0.1, 10.0.0.2]"}, []string{"10.0.0.1", "[a]"}},
		"ranges":       {Ranges("f", new([]netip.Prefix)), []string{"[10.0.0.0/8]"}, []string{"[10]"}},
		"ports":        {Ports("f", new(values.PortRange)), []string{"1-1", "1-65535"}, []string{"0-1", "2-1", "1-65536", "1", "a-b"}},
		"bool":         {Bool("f", new(bool)), []string{"true", "False"}, []string{"maybe", "yes", "1", `"true"`}},
		"number":       {Number("f", new(int), 0, 9), []string{"0", "9"}, []string{"-1", "10", "1.0", "+1", "0x1", "true", `"1"`}},
		"duration":     {Duration("f", new(time.Duration), 0, time.Hour), []string{"0s", "1h"}, []string{"-1s", "3601s", "1"}},
		"release":      {Version("f", new(values.Version)), []string{"1.30", "v1.31.2"}, []string{"https://a.example/v1.31.2/", "a"}},
		"sysctl value": {SysctlValue("f", new(string)), []string{"1", "a", `"a\tb"`}, []string{`""`, `"a\nb"`, "true", "[a]"}},
		"text":         {text(NotEmpty), []string{"a", `"a\nb"`}, []string{`""`, `"a\tb"`}},
		"name": {text(ValidName), []string{"a", "z", "a0", "a9", "a-b.c", long[:253]},
			[]string{`""`, long[:254], strings.Repeat("a", 64), "a..b", "-a", "a-", "A", "a_b", "a/b", "a:b", "a{b"}},
		"file name": {text(ValidFileName), []string{"a", "..a"}, []string{`""`, ".", "..", "a/b", `"a\nb"`}},
		"unit":      {text(ValidUnit), []string{"a@b.service", long[:200]}, []string{`""`, long[:201], ".a", "a b"}},
		"member":    {text(ValidMember), []string{"a", "bin/a"}, []string{`""`, ".", "..", "../a", "/a", "a/", "a//b", `"a\nb"`}},
		"URL": {text(ValidURL), []string{"https://a.example/b", "file:///a", "a/b"},
			[]string{`""`, "https://a.example", "https:///b", "file://a/b", "file:a", "file:///a/../b", "a/b?c", "../a", "//a/b",
				"https://u@a.example/b", "https://a.example/b#c", "ftp://a.example/b"}},
	} {
		for _, v := range c.takes {
			if d := read(t, "f: "+v, &Strict, Origins{}, c.field); d.Doc.Errors != 0 {
				t.Errorf("%s: %s is refused: %s", name, v, d.Doc.Diags)
			}
		}
		for _, v := range c.refuse {
			d := read(t, "f: "+v, &Strict, Origins{}, c.field)
			if d.Doc.Errors != 1 || !strings.HasPrefix(d.Doc.Diags[0].Field, "f") {
				t.Errorf("%s: %s has not one error about its field: %s", name, v, d.Doc.Diags)
			}
		}
	}
}

// kOps' own programs write a number that nobody set as 0, and name a version by a URL.
func TestFieldsOfALenientDialect(t *testing.T) {
	lenient := &Dialect{Lenient: true}
	var mtu, fallback, zero int
	var ports values.PortRange
	var version values.Version
	origins := Origins{}
	fields := []Field{MTU("mtu", &mtu), Number("zero", &zero, 0, 9), MTU("fallback", &fallback),
		Ports("ports", &ports), Version("version", &version)}
	read(t, "{mtu: 9000, zero: 1}", lenient, origins, fields...)
	was := origins["mtu"]
	d := read(t, "fallback: 0\nmtu: 0\nzero: 0\nports: 30000+9\nversion: https://a.example/1.29.0/v1.31.2/", lenient, origins, fields...)
	_, said := origins["fallback"]
	if d.Doc.Errors != 0 || mtu != 9000 || origins["mtu"] != was || said || zero != 0 || origins["zero"].Line != 3 {
		t.Errorf("mtu %d (%v), zero %d: %v, %s", mtu, origins["mtu"], zero, origins, d.Doc.Diags)
	}
	if ports != (values.PortRange{First: 30000, Last: 30009}) || version.String() != "1.31.2" {
		t.Errorf("ports %v, version %s", ports, version)
	}
}

// An MTU of 0 is detected by the network. Any other one is the document's.
func TestAutoMTU(t *testing.T) {
	for text, want := range map[string]int{"0": 0, "1400": 1400} {
		mtu := 1
		if d := read(t, "mtu: "+text, &Strict, Origins{}, AutoMTU("mtu", &mtu)); d.Doc.Errors != 0 || mtu != want {
			t.Errorf("%s: %d, %s", text, mtu, d.Doc.Diags)
		}
	}
}

// A list replaces the list of an earlier document, and so do the origins of its entries. A merged
// list replaces the element with the same key.
func TestListsOfTwoDocuments(t *testing.T) {
	var names []string
	var ranges []netip.Prefix
	var addresses []netip.Addr
	origins := Origins{}
	fields := []Field{Names("names", &names, nil), Ranges("ranges", &ranges), EachAddress("addresses", &addresses)}
	read(t, "{names: [a, b], ranges: [10.0.0.0/8], addresses: [10.0.0.1]}", &Strict, origins, fields...)
	read(t, "{names: [c], ranges: [fd00::/8], addresses: [fd00::1]}", &Strict, origins, fields...)
	if _, has := origins["names[1]"]; has || !slices.Equal(names, []string{"c"}) {
		t.Errorf("names %v, origins %v", names, origins)
	}
	if len(ranges) != 1 || len(addresses) != 1 || ranges[0].String() != "fd00::/8" || addresses[0].String() != "fd00::1" {
		t.Errorf("ranges %v, addresses %v", ranges, addresses)
	}
	list := []string{"a1", "b1"}
	put := Merging(&list, func(s string) string { return s[:1] })
	for _, s := range []string{"b2", "c2"} {
		put(s)
	}
	if !slices.Equal(list, []string{"a1", "b2", "c2"}) {
		t.Error(list)
	}
}

// The hint for a refused text says what is unusual in it.
func TestWhatIsUnusualInAText(t *testing.T) {
	for text, want := range map[string]string{
		"{{ .MTU }}": "template", "а": "U+0430", "é": "no letter of ASCII", "a b: c": "another field", `a"`: "quote",
		" a": "blank", "a - b": "several lines", "a": "",
	} {
		if got := Also("", text); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if got := Also("hint", text); !strings.HasPrefix(got, "hint") || !strings.Contains(got, want) {
			t.Errorf("%q: %q", text, got)
		}
	}
	for text, want := range map[string]string{"f: a:b": "a blank is missing after the colon", "f: [a]": "it is one mapping",
		"f: ' a'": "a blank begins or ends it"} {
		d := read(t, text, &Strict, Origins{}, Into("f", func() []Field { return nil }))
		if !strings.Contains(d.Doc.Diags.String(), want) {
			t.Errorf("%s: %s", text, d.Doc.Diags)
		}
	}
}

// A hint is given only where it leads to a right value.
func TestHintsForAddressesAndPorts(t *testing.T) {
	for text, want := range map[string]string{
		"10.255.0.256/8": `"256" is no number from 0 to 255`, "10.0.0.0/255.0.0.0": "did you mean 10.0.0.0/8?",
		"10.0.0.0/255.0.255.0": "write a length from 0 to 32 after the /", "10.0.0.0/-8": "write a length from 0 to 32 after the /",
		"10.0.0.1/032": "did you mean 10.0.0.1/32?", "10.0.0.0/33": "write a length from 0 to 32 after the /",
	} {
		if d := read(t, "f: "+text, &Strict, Origins{}, CIDRs("f", new(values.CIDRs))); d.Doc.Diags[0].Hint != want {
			t.Errorf("%s: %q, want %q", text, d.Doc.Diags[0].Hint, want)
		}
	}
	for text, want := range map[string]string{"2-1": "did you mean 1-2?", "0-1": "", "0-0": "", "70000-1": ""} {
		if d := read(t, "f: "+text, &Strict, Origins{}, Ports("f", new(values.PortRange))); d.Doc.Diags[0].Hint != want {
			t.Errorf("%s: %q, want %q", text, d.Doc.Diags[0].Hint, want)
		}
	}
}
