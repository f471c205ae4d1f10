package report

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A reader that is not ours reads each written value back unchanged. The lines that keep it:
// yaml.go, literal, bare, yamlReserved, scalar.
func TestYAMLIsReadBackAsItWas(t *testing.T) {
	words := rapid.SampledFrom([]string{
		"", "yes", "No", "null", "~", "1", "0x1f", "1e3", ".inf", "2001-01-01", "a: b", "- x", "a\nb\n", "a\nb", "\n a\n", "  lead\nx\n", "trail  \nx",
		"\ttab\nx", "a\r\nb", "x #c", "#c", "*a", "&a", "!t", "|", "%", "@x", "'q'", `"q"`, "\x00", "\x7f", "\u0085", "\u2028", "😀", "?", "--- a", "...",
		"a\n---\nb\n", "key:", ":", "{", "\n", "\n\n", "a\n\n\n", "<<", "=", `\`, "a\n  \nb\n", "- \n- ", "sysctl:net.ipv4.ip_forward", "/etc/x", "a ", "y",
		"--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n", "a\n\n  b\n", "\ufeff",
	})
	text := rapid.OneOf(words, rapid.String(), rapid.StringMatching(`[a-z :#\n\t-]{0,12}`))
	value := func(inner *rapid.Generator[any]) *rapid.Generator[any] {
		return rapid.OneOf(
			rapid.Map(text, func(s string) any { return s }),
			rapid.Map(rapid.Int32(), func(n int32) any { return float64(n) }),
			rapid.Map(rapid.Bool(), func(b bool) any { return b }),
			rapid.Just[any](nil),
			rapid.Map(rapid.SliceOfN(inner, 0, 3), func(l []any) any { return append([]any{}, l...) }),
			rapid.Map(rapid.MapOfN(text, inner, 0, 3), func(m map[string]any) any { return m }),
		)
	}
	leaf := rapid.Map(text, func(s string) any { return s })
	deep := value(value(value(leaf)))
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.MapOfN(text, deep, 0, 4).Draw(t, "value")
		var out bytes.Buffer
		if err := YAML(&out, want); err != nil {
			t.Fatal(err)
		}
		var read any
		if err := yaml.Unmarshal(out.Bytes(), &read); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		back, err := json.Marshal(read) // whatever Go types the reader has for numbers
		if err != nil {
			t.Fatal(err)
		}
		asJSON, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if json.Unmarshal(back, &a) != nil || json.Unmarshal(asJSON, &b) != nil {
			t.Fatalf("not JSON: %s", back)
		}
		if len(want) > 0 {
			if diff := cmp.Diff(b, a); diff != "" {
				t.Fatalf("%s\n%s", diff, out.String())
			}
		}
	})
}

// A plan in YAML has the fields of its JSON form in the same order, and its diffs as lines.
func TestPlanAsYAML(t *testing.T) {
	p := &Plan{Cluster: "demo.example.com", Node: "node-1", Network: "bridge", Generation: 7, Steps: []Step{{
		Key: "file:/etc/x", State: Planned, Gate: "before kubelet", Reason: "content differs",
		Items: []Item{{Key: "file:/etc/x", Op: "~", Fields: []Field{{Name: "mode", Before: "0600", After: "0644"}}, Diff: "--- a\n+++ b\n-old\n+new: 1\n"}},
	}}}
	p.Finish(1)
	var out bytes.Buffer
	if err := YAML(&out, p); err != nil {
		t.Fatal(err)
	}
	want := `version: netwright.dev/plan/v1
cluster: demo.example.com
node: node-1
network: bridge
store: ""
generation: 7
digest: ""
steps:
  - key: file:/etc/x
    state: planned
    gate: before kubelet
    items:
      - key: file:/etc/x
        op: "~"
        fields:
          - name: mode
            before: "0600"
            after: "0644"
        diff: |
          --- a
          +++ b
          -old
          +new: 1
    reason: content differs
summary:
  tasks: 1
  right: 0
  create: 0
  update: 1
  remove: 0
  run: 0
  waiting: 0
  failed: 0
  skipped: 0
  notHere: 0
  unknown: 0
  repairs: 0
  contested: 0
  drifted: 0
  ignored: 0
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("the YAML (-want +got):\n%s", diff)
	}
}
