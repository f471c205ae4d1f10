package document

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// TestTabs: a tab within a plain text stays, in values and keys, on one line and on several. Tabs
// around the text are read as kOps reads them. The lines that keep it: yaml_tokens.go, restoreTabs,
// scalarText
func TestTabs(t *testing.T) {
	for _, within := range []string{"\t", "4\t5", "\t\t \tc", " \tc", "\n  c\td", "\t\n  c", "\tc\n\n\n  d\t", "\t'c'\td", "\t\"", "#\tc",
		"\t:c", ":c\t", "\u00a0\tc"} {
		for _, around := range []string{"k: a%sb", "k:\ta%sb\t\nl: z\n", "k: a%sb\t# comment\n", "k: 1%s2\n", "k: tr%sue\n", "k: .%sinf\n", "- a%sb\n- - c\n",
			"k:\n  - a%sb\n  - l: a%sb\n    m: z\n", "k: [a%sb, \t c\t]\n", "k: {l: a%sb, m: [a%sb]}\n", "k: |\n  a%sb\n", "k: &x a%sb\nl: *x\t\n"} {
			holdsAsKops(t, strings.ReplaceAll(around, "%s", within))
		}
	}
	for _, text := range []string{"a\tb: c\n", "a \t b\t: c\n", "- a\tb: c\n  d: e\n", "k: {a\tb: c}\n", "<\t<: c\n", "k: {l: [a:\tb]}\n", "k: {l: [a\t:b]}\n",
		"k: a\n  - b\tc\n", "k: 'a\tb'\n", "k: \"a\tb\"\n", "k: >\n  a\tb\n  c\n"} {
		holdsAsKops(t, text)
	}
}

// holdsAsKops reports a text of strings, lists and mappings that is read differently than kOps
// reads it. It skips a text that one of the two refuses.
func holdsAsKops(t *testing.T, text string) {
	t.Helper()
	d := New(Source{Path: "cluster.yaml", Data: []byte(text)})
	d.Parse()
	var want any
	if err := yaml.Unmarshal([]byte(text), &want); err != nil || d.Root == nil {
		return
	}
	if got := generic(d.Root); !reflect.DeepEqual(got, want) {
		t.Errorf("%q is %#v, and kOps reads %#v", text, got, want)
	}
}

func generic(v *Value) any {
	switch v.Kind {
	case KindMap:
		m := make(map[string]any)
		for _, e := range v.Entries {
			m[e.Key] = generic(e.Value)
		}
		return m
	case KindList:
		list := make([]any, len(v.Items))
		for i := range v.Items {
			list[i] = generic(v.Items[i])
		}
		return list
	case KindString:
		return v.Text
	}
	return fmt.Sprintf("%s: %s", v.Kind, v.Text)
}

// The name of an anchor ends at a tab, but the library reads to the next blank. Such an anchor is
// refused, since the text behind the tab would be lost. The line that keeps it: yaml_tokens.go,
// restoreTabs
func TestTabBehindAnAnchor(t *testing.T) {
	for _, text := range []string{"k: &a\tb c\n", "k: &a b\nl: [*a\tc]\n"} {
		d := New(Source{Path: "cluster.yaml", Data: []byte(text)})
		if d.Parse(); d.Root != nil || !strings.Contains(d.Diags.String(), "a tab is after the name") {
			t.Errorf("%q: d.Diags is %s", text, d.Diags)
		}
	}
}
