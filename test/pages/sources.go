package pages

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/netwright/netwright/pkg/model/network"
)

// Source is a place in the code of another project that proves facts of rows.
type Source struct {
	Networks           []string // whose rows have the facts
	Repository, Commit string   // "projectcalico/calico"
	File               string
	Line               int
	Words              string // what stands there
	Facts              []string
}

// ReadSources reads pkg/model/network/sources, a file for each of upstream's repositories. Their
// form is in tools/facts.
func ReadSources(dir string) ([]Source, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	var out []Source
	for _, file := range files {
		found, err := readSources(file)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, err
}

func readSources(file string) ([]Source, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the sources of facts: %w", err)
	}
	var out []Source
	var of Source
	for i, line := range strings.Split(string(raw), "\n") {
		columns := strings.Split(strings.TrimPrefix(line, "\t"), "\t")
		switch words := strings.Fields(line); {
		case line == "" || strings.HasPrefix(line, "#"):
		case !strings.HasPrefix(line, "\t") && len(words) == 3:
			of = Source{Networks: strings.Split(words[0], ","), Repository: words[1], Commit: words[2]}
		case strings.HasPrefix(line, "\t") && len(columns) > 2:
			s := of
			name, number, _ := strings.Cut(columns[0], ":")
			if s.Line, err = strconv.Atoi(number); err != nil {
				return nil, fmt.Errorf("%s:%d: no line of a file: %w", file, i+1, err)
			}
			s.File, s.Words, s.Facts = name, columns[1], columns[2:]
			out = append(out, s)
		default:
			return nil, fmt.Errorf("%s:%d: neither a network nor a source: %q", file, i+1, line)
		}
	}
	return out, nil
}

// FactsOf are the numbers and names in a row that upstream decides, a line each. Words of people
// (why, when, what to do) are none.
func FactsOf(n network.Network) []string {
	var out []string
	add := func(kind, name string) { out = append(out, kind+" "+name) }
	if n.Conf.File != "" {
		add("conf", n.Conf.File)
	}
	for _, p := range n.Conf.Chain {
		add("plugin", p)
	}
	for _, m := range n.Modules {
		add("module", m.Name)
	}
	for _, s := range n.Sysctls {
		add("sysctl", s.Key+" = "+s.Value)
	}
	for _, m := range n.Mounts {
		add("mount", m.Where)
	}
	for _, c := range n.Certificates {
		add("certificate", c.Keypair)
	}
	for _, p := range n.Ports {
		add("port", fmt.Sprintf("%s %d", p.Proto, p.Port))
	}
	for _, h := range n.HealthChecks {
		for _, name := range []string{h.Path, h.Link, h.Table, h.URL} {
			if name != "" {
				add("sign", name)
			}
		}
	}
	for _, a := range n.Agents {
		add("container", a)
	}
	n.Residue.Others = nil
	out = append(out, n.Residue.Describe()...)
	slices.Sort(out)
	return slices.Compact(out)
}

// of says whether a source is one of a network's row.
func (s Source) of(name string) bool { return slices.Contains(s.Networks, name) }

// from lists where upstream has what the page says.
func (w *writer) from(n network.Network, sources []Source) {
	var rows [][]string
	for _, s := range sources {
		if !s.of(n.Name) {
			continue
		}
		link := fmt.Sprintf("[%s, line %d](https://github.com/%s/blob/%s/%s#L%d)", s.File, s.Line, s.Repository, s.Commit,
			s.File, s.Line)
		rows = append(rows, []string{codes(s.Facts, "<br>"), link})
	}
	if len(rows) == 0 {
		return
	}
	w.para("## Sources")
	w.para("These facts are from upstream's code, at the named commit:")
	w.table([]string{"what", "where"}, rows)
}
