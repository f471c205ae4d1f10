package bench

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/test/program"
)

// text returns the table as Markdown.
func (r *results) text() string {
	var out strings.Builder
	fmt.Fprintf(&out, "\n%s, %d processors, %s; load %s before, %s after\n", r.started.UTC().Format(time.RFC3339), runtime.NumCPU(), runtime.Version(), r.load, load())
	fmt.Fprintf(&out, "agent: %.1f MB stripped (at most %.1f)\n", float64(r.size)/1e6, program.Budget/1e6)
	fmt.Fprintf(&out, "node: modules.dep of 4,200 modules, containerd, kubelet's files, %d pods' links, %d services of kube-proxy's\n", pods, services)
	for _, s := range table {
		if len(r.of(s.name, "agent")) > 0 {
			r.scenario(&out, s)
		}
	}
	r.goals(&out)
	return out.String()
}

func (r *results) scenario(out *strings.Builder, s scenario) {
	fmt.Fprintf(out, "\n%s: %s\n\n", s.name, s.title)
	fmt.Fprintf(out, "| %-10s | %9s | %9s | %9s | %8s | %7s | %6s | %5s |\n", "", "wall ms", "least", "cpu ms", "peak MB", "x agent", "others", "wrong")
	fmt.Fprintf(out, "|%s|%s\n", strings.Repeat("-", 12), strings.Repeat(strings.Repeat("-", 10)+":|", 7))
	base := median(r.of(s.name, "agent"), wall)
	var seen []string
	for _, one := range r.samples {
		if one.Scenario != s.name || slices.Contains(seen, one.Contender) {
			continue
		}
		seen = append(seen, one.Contender)
		all := r.of(s.name, one.Contender)
		least, wrong := all[0].Wall, 0
		for _, x := range all {
			least = min(least, x.Wall)
			if x.Wrong != "" || x.Code != 0 {
				wrong++
			}
		}
		fmt.Fprintf(out, "| %-10s | %9.1f | %9.1f | %9.1f | %8.1f | %7.2f | %5.0f%% | %d/%d |\n", one.Contender,
			ms(median(all, wall)), ms(least), ms(median(all, sample.cpu)), float64(median(all, func(s sample) int64 { return s.Peak }))*1024/1e6,
			float64(median(all, wall))/float64(base), 100*busyness(all), wrong, len(all))
	}
}

func (r *results) of(scenario, contender string) []sample {
	var all []sample
	for _, s := range r.samples {
		if s.Scenario == scenario && s.Contender == contender {
			all = append(all, s)
		}
	}
	return all
}

func wall(s sample) time.Duration { return s.Wall }

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// busyness returns the share of the machine that all other work had during the runs. Above a few
// percent the figures include the other work.
func busyness(all []sample) float64 {
	share := 0.0
	for _, s := range all {
		share += float64(s.Others) / float64(s.Wall) / float64(runtime.NumCPU())
	}
	return share / float64(len(all))
}
