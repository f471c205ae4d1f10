package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/config/document"
)

const smallest = "apiVersion: netwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: demo.example.com}\nspec:\n  kubernetesVersion: 1.31.2\n  networking: {bridge: {}}\n"

func loadText(text string) (*Node, document.Diagnostics) {
	return Load(keyKinds, []document.Source{{Path: "cluster.yaml", Data: []byte(text)}}, Select{})
}

// TestEncodings: a text that an editor or another system changed is read, or refused with a clear
// error.
func TestEncodings(t *testing.T) {
	utf16 := "\xff\xfe"
	for _, c := range smallest {
		utf16 += string([]byte{byte(c), 0})
	}
	for _, c := range []struct{ name, text, want string }{
		{"plain", smallest, ""},
		{"byte order mark", "\ufeff" + smallest, ""},
		{"CRLF", strings.ReplaceAll(smallest, "\n", "\r\n"), ""},
		{"CR", strings.ReplaceAll(smallest, "\n", "\r"), ""},
		{"no final newline", strings.TrimSpace(smallest), ""},
		{"document marks", "---\n" + smallest + "...\n", ""},
		{"only a comment after", smallest + "---\n# no more\n", ""},
		{"UTF-16", utf16, "cluster.yaml:1:1: the document is UTF-16"},
		{"Latin-1", smallest + "# caf\xe9\n", "cluster.yaml:7:6: the document is not UTF-8: byte 0xe9"},
		{"NUL", smallest + "\x00", "cluster.yaml:7:1: the document holds a control character (0x00)"},
		{"escape in CRLF", strings.ReplaceAll(smallest, "\n", "\r\n") + "  # \x1b[31m\r\n", "cluster.yaml:7:5: the document holds a control character (0x1b)"},
		{"directive", "%YAML 1.1\n---\n" + smallest, "cluster.yaml:1:1: YAML directives are not supported"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, diags := loadText(c.text)
			if first, _, _ := strings.Cut(diags.String(), "\n"); first != c.want && !strings.HasPrefix(first, c.want+" [") {
				t.Errorf("got %q, want %q", first, c.want)
			}
			if (n != nil) != (c.want == "") {
				t.Errorf("node %v beside %s", n, diags)
			}
		})
	}
}

// TestBounds: documents that would use up the node are refused before they are parsed. Without the
// bound the YAML library needs minutes, or its whole stack, for each of these.
func TestBounds(t *testing.T) {
	numbered := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for _, c := range []struct{ name, text, want string }{
		{"size", smallest + strings.Repeat("# padding\n", document.MaxBytes/10), "cluster.yaml:1:1: the document is too big: 4194445 bytes"},
		{"one long line", strings.Repeat("x", document.MaxBytes+1), "cluster.yaml:1:1: the document is too big: 4194305 bytes"},
		{"flow depth", smallest + "  podCIDR: " + strings.Repeat("[", 70_000), "cluster.yaml:7:42: nested deeper than 32 levels"},
		{"block depth", smallest + "  podCIDR:\n    " + strings.Repeat("- ", 70_000), "cluster.yaml:8:65: nested deeper than 32 levels"},
		{"fields", smallest + numbered(35_000, "  k%d: v\n"), "cluster.yaml:1005:7: a mapping of more than 1000 fields, or a list of more than 10000 entries"},
		{"flow fields", smallest + "  podCIDR: {" + numbered(2_000, "k%d: v, ") + "}\n", "cluster.yaml:7:12: a mapping of more than 1000 fields"},
		{"entries", smallest + "  podCIDR:\n" + strings.Repeat("  -\n", 35_000), "cluster.yaml:10008:3: a mapping of more than 1000 fields, or a list of more than 10000 entries"},
		{"blank lines", smallest + "  podCIDR: |\n" + strings.Repeat("\n", 100_000), "cluster.yaml:208:1: more than 200 blank lines in a row"},
		{"signs", smallest + strings.Repeat("&", 2_000_000), "cluster.yaml:7:79981: more than 80000 lines and signs of YAML"},
		{"entries behind tabs", smallest + strings.Repeat("-\t", 1_000_000), "cluster.yaml:7:159961: more than 80000 lines and signs of YAML"},
		{"anchors", smallest + strings.Repeat("&a ", 79_000), "cluster.yaml:7:1: not valid YAML: a name on this line has no colon after it, as a field needs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, diags := loadText(c.text)
			if first, _, _ := strings.Cut(diags.String(), "\n"); !strings.HasPrefix(first, c.want+" [") || n != nil {
				t.Errorf("got %q, want %q", first, c.want)
			}
		})
	}
}

// TestManyComplaints: for a document with very many errors the list is short enough for a person.
func TestManyComplaints(t *testing.T) {
	_, diags := loadText(smallest + "  sysctlParameters:\n" + strings.Repeat("  - nonsense\n", 9_000))
	if len(diags) != document.MaxDiagnostics {
		t.Errorf("got %d complaints, want %d", len(diags), document.MaxDiagnostics)
	}
}

// TestSecretLayouts: no error prints a secret, however the secret is written and wherever the
// mistake is.
func TestSecretLayouts(t *testing.T) {
	const secret = "hunter2"
	values := []string{
		secret, `"` + secret + `"`, "'" + secret + "'", "|\n      " + secret + "\n      " + secret, ">-\n\n      " + secret, "\"x\n      " + secret + "\"",
		"x\n      " + secret, "[" + secret + ",\n      " + secret + "]", "{a: " + secret + ",\n      b: [" + secret + "]}", "\n    - " + secret + "\n    - " + secret,
		"\n      a: " + secret, "&a " + secret, "# " + secret + "\n      " + secret, "!x " + secret, "*" + secret, "{" + secret, "\"" + secret, "\t" + secret, secret + ": " + secret, "\n      " + secret + ": 1\n      " + secret + ": 2",
	}
	items := []string{
		"  - name: a\n    content: %s\n    modee: x\n", "  - content: %s\n    name: [a]\n", "  - name: a\n    contents: %s\n", "  - name: a\n    \"content\" : %s\n    isBase64: true\n",
		"  - {name: a, content: %s, mode: 644}\n", "  - {content: %s,\n     mode: 644}\n", "  - {mode: 644, content: %s}\n  - 17\n", "  - name: a\n    content: %s\n  podCIDRR: x\n",
		"  - name: a\n    isBase64: yes\n    content: %s # " + secret + "\n    mode: 9\n",
	}
	shown := 0
	for _, item := range items {
		for _, v := range values {
			text := smallest + "  fileAssets:\n" + fmt.Sprintf(item, v)
			_, diags := loadText(text)
			if strings.Contains(diags.String(), secret) {
				t.Errorf("the secret is shown:\n%s\n%s", text, diags)
			}
			shown += len(diags)
		}
	}
	if shown < len(items)*len(values) {
		t.Errorf("only %d complaints: the cases do not test what they should", shown)
	}
}

// keyKinds stands for the kinds of package tasks.
var keyKinds = []string{"address", "file", "forward", "link", "module", "mount", "nft", "route", "rule", "sysctl", "toml", "unit"}
