package tomledit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
	"pgregory.net/rapid"
)

var cniTable = []string{"plugins", "io.containerd.grpc.v1.cri", "cni"}

// TestSet edits each testdata/NAME.toml. The result must equal NAME.want.
func TestSet(t *testing.T) {
	files, err := filepath.Glob("testdata/*.toml")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 8 {
		t.Fatalf("only %d cases", len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".toml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(strings.TrimSuffix(file, ".toml") + ".want")
			if err != nil {
				t.Fatal(err)
			}
			edit, err := Setting{Table: cniTable, Key: "conf_dir", Value: "/etc/cni/ours.d"}.Set(text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(edit.Text)); diff != "" {
				t.Errorf("the edited file (-want +got):\n%s", diff)
			}
			again, err := Setting{Table: cniTable, Key: "conf_dir", Value: "/etc/cni/ours.d"}.Set(edit.Text)
			if err != nil || !again.Same {
				t.Errorf("a second edit: %+v, %v", again, err)
			}
		})
	}
}

func TestSetKeepsForm(t *testing.T) {
	for name, c := range map[string]struct {
		key          Setting
		before, want string
	}{
		"empty":            {Setting{Key: "version", Value: int64(2)}, "", "version = 2\n"},
		"no line end":      {Setting{Table: []string{"a"}, Key: "x", Value: true}, "[a]\ny = 1", "[a]\ny = 1\nx = true\n"},
		"table, no end":    {Setting{Table: []string{"b"}, Key: "x", Value: true}, "[a]\ny = 1", "[a]\ny = 1\n\n[b]\nx = true\n"},
		"carriage return":  {Setting{Table: []string{"a"}, Key: "x", Value: "v"}, "[a]\r\ny = 1\r\n\r\n[b]\r\n", "[a]\r\ny = 1\r\nx = \"v\"\r\n\r\n[b]\r\n"},
		"replace with CR":  {Setting{Table: []string{"a"}, Key: "y", Value: int64(2)}, "[a]\r\ny = 1 # why\r\n", "[a]\r\ny = 2 # why\r\n"},
		"root":             {Setting{Key: "x", Value: "v"}, "a = 1\n# c\n[t]\nx = 2\n", "a = 1\nx = \"v\"\n# c\n[t]\nx = 2\n"},
		"array":            {Setting{Key: "x", Value: []string{"a", "b"}}, "x = [ # list\n  \"]\", # one\n] # end\ny = 1\n", "x = [\"a\", \"b\"] # end\ny = 1\n"},
		"multi-line":       {Setting{Key: "y", Value: int64(2)}, "x = \"\"\"\ny = 1\n[t]\n\\\"\"\"\"\"\"\ny = 1\n", "x = \"\"\"\ny = 1\n[t]\n\\\"\"\"\"\"\"\ny = 2\n"},
		"literal":          {Setting{Key: "y", Value: int64(2)}, "x = '''\ny = 1\n''''\ny = 1\n", "x = '''\ny = 1\n''''\ny = 2\n"},
		"quoted key":       {Setting{Table: []string{"a.b"}, Key: "c d", Value: "v"}, "['a.b']\n\"c\\u0020d\" = 1\n", "['a.b']\n\"c\\u0020d\" = \"v\"\n"},
		"spaced header":    {Setting{Table: []string{"a", "b"}, Key: "c", Value: "v"}, "[ a . \"b\" ] # t\n  c=1 \n", "[ a . \"b\" ] # t\n  c=\"v\" \n"},
		"escapes":          {Setting{Key: "x", Value: "a\"b\\c\nü\x01"}, "", "x = \"a\\\"b\\\\c\\u000aü\\u0001\"\n"},
		"other tables' x":  {Setting{Table: []string{"b"}, Key: "x", Value: int64(1)}, "x = 0\n[a]\nx = 0\n[[c]]\nx = 0\n[b]\n[b.x2]\nx = 0\n", "x = 0\n[a]\nx = 0\n[[c]]\nx = 0\n[b]\nx = 1\n[b.x2]\nx = 0\n"},
		"super-table":      {Setting{Table: []string{"a"}, Key: "x", Value: int64(1)}, "[a.b]\ny = 1\n", "[a.b]\ny = 1\n\n[a]\nx = 1\n"},
		"inline elsewhere": {Setting{Table: []string{"a"}, Key: "x", Value: int64(1)}, "[a]\nt = { x = 0, u = [{ x = 0 }] }\nx = 0\n", "[a]\nt = { x = 0, u = [{ x = 0 }] }\nx = 1\n"},
		"dates and floats": {Setting{Key: "x", Value: int64(1)}, "d = 1979-05-27 07:32:00Z # d\nf = nan\nt = 07:32:00\nx = 0x10\n", "d = 1979-05-27 07:32:00Z # d\nf = nan\nt = 07:32:00\nx = 1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			edit, err := c.key.Set([]byte(c.before))
			if err != nil {
				t.Fatal(err)
			}
			if string(edit.Text) != c.want {
				t.Errorf("got  %q\nwant %q", edit.Text, c.want)
			}
		})
	}
}

func TestSetRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		before string
		want   []string
	}{
		"dotted key":     {"[plugins]\n# here\n\"io.containerd.grpc.v1.cri\".cni.conf_dir = \"x\"\n", []string{"line 3 sets it in a dotted key", "conf_dir below a header [plugins.\"io.containerd.grpc.v1.cri\".cni]"}},
		"inline table":   {"[plugins.\"io.containerd.grpc.v1.cri\"]\ncni = { conf_dir = \"x\" }\n", []string{"line 2 sets it in a dotted key or an inline table"}},
		"inline sibling": {"[plugins.\"io.containerd.grpc.v1.cri\"]\ncni = { bin_dir = \"x\" }\n", []string{"a header of its own"}},
		"dotted sibling": {"[plugins.\"io.containerd.grpc.v1.cri\"]\ncni.bin_dir = \"x\"\n", []string{"a header of its own"}},
		"not a table":    {"plugins = 1\n", []string{"plugins is not a table"}},
		"list of tables": {"[[plugins]]\nx = 1\n", []string{"plugins is not a table"}},
		"a table":        {"[plugins.\"io.containerd.grpc.v1.cri\".cni.conf_dir]\n", []string{"is a table there"}},
		"invalid":        {"version = 2\n[plugins\n", []string{"no valid TOML", "line 2", "repair it"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Setting{Table: cniTable, Key: "conf_dir", Value: "/etc/cni/net.d"}.Set([]byte(c.before))
			if err == nil {
				t.Fatal("no error")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
		})
	}
}

// TestSetChangesNothingElse makes documents of all forms, each with a model of its content, and
// sets a key.
func TestSetChangesNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nl := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "nl")
		var doc strings.Builder
		names := rapid.SampledFrom([]string{"a", "b", "c", `"q.r"`, `'l"m'`, "conf_dir"})
		values := rapid.SampledFrom([]string{"1", "-2.5", "true", `"s # not a comment"`, `'li\t'`, "[1, 2]", "[" + nl + " \"]\", # ]" + nl + "]", `{ x = 1, "y" = [2] }`,
			`"""` + nl + `[a]` + nl + `a = 1 \""" ` + nl + `"""`, "1979-05-27", "'''''x'''"})
		noise := rapid.SampledFrom([]string{"", "", "# a = 1" + nl, nl, "  # [a]" + nl, "\t" + nl})
		indents := rapid.SampledFrom([]string{"", "  ", "\t"})
		section := func() {
			used := map[string]bool{}
			for range rapid.IntRange(0, 4).Draw(t, "keys") {
				name, value := names.Draw(t, "name"), values.Draw(t, "value")
				if used[name] {
					continue
				}
				used[name] = true
				doc.WriteString(noise.Draw(t, "noise") + indents.Draw(t, "indent") + name + indents.Draw(t, "gap") + "=" + indents.Draw(t, "gap") + value)
				doc.WriteString(rapid.SampledFrom([]string{"", " ", " # why"}).Draw(t, "tail") + nl)
			}
		}
		section()
		tables := []string{"t", "u.v", "u.v.w", `u."x.y"`, "[list]", "[list]"}
		for i := range rapid.IntRange(0, len(tables)).Draw(t, "tables") {
			doc.WriteString(noise.Draw(t, "noise") + indents.Draw(t, "indent") + "[" + tables[i] + "]" + rapid.SampledFrom([]string{"", " # t"}).Draw(t, "tail") + nl)
			section()
		}
		text := doc.String()
		if rapid.Bool().Draw(t, "cut the last line end") {
			text = strings.TrimSuffix(text, nl)
		}
		key := Setting{Key: rapid.SampledFrom([]string{"a", "q.r", `l"m`, "conf_dir", "new"}).Draw(t, "key"), Value: "set by the test"}
		key.Table = rapid.SampledFrom([][]string{nil, {"t"}, {"u"}, {"u", "v"}, {"u", "x.y"}, {"n", "e", "w"}}).Draw(t, "table")

		var before map[string]any
		if err := toml.Unmarshal([]byte(text), &before); err != nil {
			t.Fatalf("the generator wrote invalid TOML: %v\n%s", err, text)
		}
		edit, err := key.Set([]byte(text))
		if _, isTable := dig(before, key.full()).(map[string]any); isTable {
			if err == nil {
				t.Fatalf("a table was replaced:\n%s", text)
			}
			return
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		var after map[string]any
		if err := toml.Unmarshal(edit.Text, &after); err != nil {
			t.Fatalf("%v\n%s", err, edit.Text)
		}
		if got := dig(after, key.full()); got != "set by the test" {
			t.Fatalf("%s is %v\n%s", key, got, edit.Text)
		}
		// All bytes except those of the former value are still there.
		if edit.Before != "" {
			front, back, found := strings.Cut(string(edit.Text), `"set by the test"`)
			if !found || front+edit.Before+back != text {
				t.Fatalf("more than %q changed:\n%s\nto\n%s", edit.Before, text, edit.Text)
			}
		} else if rest := text[commonPrefix(text, string(edit.Text)):]; !strings.HasSuffix(string(edit.Text), rest) {
			t.Fatalf("lost %q from\n%s\ngot\n%s", rest, text, edit.Text)
		}
		put(after, key.full(), "same")
		put(before, key.full(), "same")
		if diff := cmp.Diff(before, after); diff != "" {
			t.Fatalf("%s\nfrom\n%s\nto\n%s", diff, text, edit.Text)
		}
	})
}

func dig(doc map[string]any, path []string) any {
	for _, p := range path[:len(path)-1] {
		doc, _ = doc[p].(map[string]any)
	}
	return doc[path[len(path)-1]]
}

func put(doc map[string]any, path []string, value any) {
	for _, p := range path[:len(path)-1] {
		next, isTable := doc[p].(map[string]any)
		if !isTable {
			next = map[string]any{}
			doc[p] = next
		}
		doc = next
	}
	doc[path[len(path)-1]] = value
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
