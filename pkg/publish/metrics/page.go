package metrics

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/VictoriaMetrics/metrics"
)

// family is a metric as a scrape shows it: what it is, and a line of each value.
type family struct {
	name, help string
	kind       kind
	lines      []string
}

// put adds a value, with those of its labels.
func (f *family) put(labels []string, value float64, values ...string) {
	f.lines = append(f.lines, series(f.name, labels, values...)+" "+strconv.FormatFloat(value, 'g', -1, 64)+"\n")
}

// series is the name of a metric with its labels and their values, as a scrape shows it.
func series(name string, labels []string, values ...string) string {
	if len(labels) == 0 {
		return name
	}
	pairs := make([]string, len(labels))
	for i, label := range labels {
		pairs[i] = label + `="` + escaped(values[i]) + `"`
	}
	slices.Sort(pairs)
	return name + "{" + strings.Join(pairs, ",") + "}"
}

// writeTo writes the family. Prometheus refuses a page that has a series twice: one of the two is
// shown.
func (f *family) writeTo(page *bytes.Buffer) {
	if len(f.lines) == 0 {
		return
	}
	if f.kind != histogram { // whose buckets have their order
		slices.Sort(f.lines)
	}
	fmt.Fprintf(page, "# HELP %s %s\n# TYPE %[1]s %[3]s\n", f.name, f.help, f.kind)
	last := ""
	for _, line := range f.lines {
		name := line[:strings.LastIndexByte(line, ' ')]
		if name != last {
			page.WriteString(line)
		}
		last = name
	}
}

// escaped is a value as it stands between quotes.
// https://prometheus.io/docs/instrumenting/exposition_formats/#text-format-details
func escaped(value string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(value, "\uFFFD"))
}

// page is what a scrape is answered: the agent's metrics by name, and those of its process.
func (m *Metrics) page() []byte {
	families := append(m.counted(), m.read()...)
	slices.SortFunc(families, func(a, b *family) int { return strings.Compare(a.name, b.name) })
	var page bytes.Buffer
	for _, f := range families {
		f.writeTo(&page)
	}
	metrics.WriteGoMetrics(&page)
	metrics.WriteProcMetrics(&page)
	return page.Bytes()
}

// counted are the families of what is counted since the daemon began.
func (m *Metrics) counted() []*family {
	build := &family{name: prefix + "build_info", help: "Always 1: which agent this is.", kind: gauge}
	build.put([]string{"goversion", "version"}, 1, runtime.Version(), m.version)
	all := []*family{build}
	for _, of := range []struct {
		set        *metrics.Set
		name, help string
		kind       kind
	}{
		{m.pass, "pass_duration_seconds", "How long passes took.", histogram},
		{m.phases, "pass_phase_duration_seconds", "How long the parts of passes took.", histogram},
		{m.events, "events_total", "What happened to keys and to the node, by what it was.", counter},
		{m.drift, "drift_total", "Keys that somebody else changed, repaired or only reported.", counter},
	} {
		var values strings.Builder
		of.set.WritePrometheus(&values)
		all = append(all, &family{name: prefix + of.name, help: of.help, kind: of.kind, lines: slices.Collect(strings.Lines(values.String()))})
	}
	return all
}

// read are the families of the last status, and of the store.
func (m *Metrics) read() []*family {
	var all []*family
	if m.requests != nil {
		outcomes, received := m.requests()
		asked := &family{name: prefix + "store_requests_total", help: "Requests to the store by how they ended.", kind: counter}
		for outcome, n := range outcomes {
			asked.put([]string{"outcome"}, float64(n), outcome)
		}
		came := &family{name: prefix + "store_received_bytes_total", help: "Bytes of objects that came from the store.", kind: counter}
		came.put(nil, float64(received))
		all = append(all, asked, came)
	}
	s := m.now.Load()
	if s == nil {
		return all
	}
	for _, one := range list() {
		f := &family{name: prefix + one.name, help: one.help, kind: one.kind}
		one.read(s, func(value float64, values ...string) { f.put(one.labels, value, values...) })
		all = append(all, f)
	}
	return all
}
