package dryrun

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/netwright/netwright/pkg/report"
)

// identical fails if a look changed anything, even a time.
func identical(t *testing.T, what string, before, after snapshot) {
	t.Helper()
	for _, key := range union(before, after) {
		if !maps.Equal(before[key], after[key]) {
			t.Errorf("%s changed %s: %v → %v", what, key, before[key], after[key])
		}
	}
}

// claims returns the keys that a plan says will change, and how.
func claims(p *report.Plan) map[string]report.Item {
	out := map[string]report.Item{}
	for _, step := range p.Steps {
		if step.State != report.Planned && step.State != report.Done {
			continue
		}
		for _, it := range step.Items {
			if step.Unknown != "" {
				it.Op = "?" // the plan says that it does not know
			}
			out[it.Key] = it
		}
	}
	return out
}

// hold compares what a dry run listed with what a real run then did.
func hold(t *testing.T, listed *report.Plan, before, after snapshot) {
	t.Helper()
	said := claims(listed)
	explained := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(said)) {
		kind, name, _ := strings.Cut(key, ":")
		var wrong string
		switch kind {
		case "toml":
			wrong = tomlClaim(said[key], name, before, after, explained)
		case "address":
			wrong = addressClaim(said[key], before, after, explained)
		case "forward":
			wrong = forwardClaim(said[key], name, before, after, explained)
		case "nft":
			wrong = tableClaim(said[key], name, before, after, explained)
		default:
			explained[key] = true
			wrong = claim(said[key], before[key], after[key])
		}
		if wrong != "" {
			t.Errorf("%s was listed as %+v, but %s", key, said[key], wrong)
		}
	}
	for _, key := range union(before, after) {
		if !explained[key] && !same(before[key], after[key]) && !follows(key, said) {
			t.Errorf("%s changed and was not listed: %v → %v", key, before[key], after[key])
		}
	}
}

// same compares the content of two things, and not their traces. A thing that was replaced by an
// equal one has changed.
func same(a, b thing) bool {
	if (a == nil) != (b == nil) || a["type"] != "directory" && a[".inode"] != b[".inode"] || a[".index"] != b[".index"] {
		return false
	}
	steady := func(m thing) thing {
		m = maps.Clone(m)
		maps.DeleteFunc(m, func(k, _ string) bool { return len(k) > 1 && k[0] == '.' })
		return m
	}
	return maps.Equal(steady(a), steady(b))
}

// claim compares one listed item with its key: the mark, and each field's old and new value.
func claim(it report.Item, before, after thing) string {
	switch {
	case it.Op == "+" && before != nil:
		return fmt.Sprintf("it was there: %v", before)
	case it.Op == "+" && after == nil:
		return "it is not there"
	case it.Op == "~" && (before == nil || after == nil):
		return fmt.Sprintf("it went from %v to %v", before, after)
	case it.Op == "~" && same(before, after):
		return fmt.Sprintf("it stayed as it was: %v", before)
	}
	named := map[string]bool{}
	for _, f := range it.Fields {
		named[f.Name] = true
		want, known := after[f.Name]
		if !known {
			continue // "certificate", "written": texts for people
		}
		if f.Before != "" && f.Before != "unknown" && !secret(f.Before) && field(f.Name, f.Before) != before[f.Name] {
			return fmt.Sprintf("%s was %q", f.Name, before[f.Name])
		}
		if !strings.HasPrefix(f.After, "from ") && !secret(f.After) && field(f.Name, f.After) != want {
			return fmt.Sprintf("%s became %q", f.Name, want)
		}
	}
	if it.Op == "~" && it.Fields != nil && before["type"] == after["type"] {
		for name := range after {
			if name[0] != '.' && before[name] != after[name] && !named[name] && !named["certificate"] {
				return fmt.Sprintf("its %s changed too: %q → %q", name, before[name], after[name])
			}
		}
	}
	return ""
}

func secret(value string) bool { return value == "secret" || value == "another secret" }

// field returns a value as the snapshot writes it.
func field(name, value string) string {
	switch {
	case name == "owner" && value == "root:root":
		return "0:0"
	case name == "owner" && strings.HasSuffix(value, ")"): // daemon:daemon (1:1)
		return strings.TrimSuffix(value[strings.LastIndexByte(value, '(')+1:], ")")
	case name == "value":
		return strings.Join(strings.Fields(value), " ")
	}
	return value
}

func tomlClaim(it report.Item, name string, before, after snapshot, explained map[string]bool) string {
	file, key, _ := strings.Cut(name, "#")
	if target := before["file:"+file]["target"]; target != "" {
		file = path.Join(path.Dir(file), target) // it is edited at the link's target
	}
	explained["file:"+file] = true
	if it.Op == "?" {
		return ""
	}
	value := func(s snapshot) string {
		var doc map[string]any
		if err := toml.Unmarshal([]byte(s["file:"+file][".toml"]), &doc); err != nil {
			return err.Error()
		}
		var at any = doc
		for _, part := range strings.Split(key, ".") {
			table, _ := at.(map[string]any)
			at = table[part]
		}
		if at == nil {
			return ""
		}
		return fmt.Sprint(at)
	}
	was, is := value(before), value(after)
	if was == is {
		return fmt.Sprintf("it stayed %q", is)
	}
	for _, f := range it.Fields {
		if strings.Trim(f.Before, `"'`) != was || strings.Trim(f.After, `"'`) != is {
			return fmt.Sprintf("it went from %q to %q", was, is)
		}
	}
	if m := "mode"; before["file:"+file] != nil && before["file:"+file][m] != after["file:"+file][m] {
		return "the mode of its file changed"
	}
	return ""
}

// addressClaim: an address with another prefix length is another address for the kernel.
func addressClaim(it report.Item, before, after snapshot, explained map[string]bool) string {
	explained[it.Key] = true
	if before[it.Key] != nil || after[it.Key] == nil {
		return "it was there, or is not there"
	}
	for _, f := range it.Fields {
		old := it.Key[:strings.LastIndexByte(it.Key, '/')] + f.Before
		explained[old] = true
		if before[old] == nil || after[old] != nil {
			return old + " was not there, or still is"
		}
	}
	return ""
}

// forwardClaim: each listed chain has two more rules for the link, and no other chain has.
func forwardClaim(it report.Item, link string, before, after snapshot, explained map[string]bool) string {
	for _, f := range it.Fields { // "ip filter FORWARD"
		key := "chain:" + strings.Join(strings.Fields(f.Name), "/")
		explained[key] = true
		was, is := before[key]["rules"], after[key]["rules"]
		if !strings.HasPrefix(is, was) || strings.Count(strings.TrimPrefix(is, was), `"`+link+`"`) != 2 {
			return fmt.Sprintf("%s went from\n%s\nto\n%s", key, was, is)
		}
	}
	return ""
}

// tableClaim: a table is removed as a whole, with its chains.
func tableClaim(it report.Item, name string, before, after snapshot, explained map[string]bool) string {
	explained[it.Key] = true
	body := func(s snapshot) (out string) {
		for _, key := range slices.Sorted(maps.Keys(s)) {
			if strings.HasPrefix(key, "chain:"+name+"/") {
				explained[key] = true
				out += s[key]["."] + s[key]["rules"]
			}
		}
		return out
	}
	switch was, is := body(before), body(after); {
	case (it.Op == "+") != (before[it.Key] == nil):
		return "the mark is wrong"
	case after[it.Key] == nil || was == is:
		return "it is as it was"
	}
	return ""
}

// follows says whether the kernel changes a sysctl by itself after a listed change: all sysctls of
// a new link, the kernel's copies of a link's MTU, and those that the switches of forwarding and
// the defaults change (https://docs.kernel.org/networking/ip-sysctl.html).
func follows(key string, said map[string]report.Item) bool {
	parts := strings.Split(key, ".") // sysctl:net ipv4 conf lo forwarding
	if len(parts) != 5 || parts[0] != "sysctl:net" {
		return false
	}
	listed := func(key string) bool { return said[key].Key != "" }
	family, of, leaf := parts[1], parts[3], parts[4]
	link := said["link:"+of]
	switch {
	case link.Op == "+", link.Key != "" && leaf == "mtu":
		return true
	case listed("sysctl:net.ipv4.ip_forward") && family == "ipv4" && (leaf == "forwarding" || leaf == "accept_redirects"):
		return true
	case listed("sysctl:net.ipv6.conf.all.forwarding") && family == "ipv6" && leaf == "forwarding":
		return true
	}
	return listed(fmt.Sprintf("sysctl:net.%s.conf.default.%s", family, leaf))
}

func union(a, b snapshot) []string {
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	return slices.Sorted(maps.Keys(keys))
}
