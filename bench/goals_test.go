package bench

import (
	"fmt"
	"strings"
	"time"
)

// goal is a goal of the agent: a figure of its own, compared with another one of the same run. So
// it does not depend on the machine.
type goal struct {
	what string
	have func(r *results, who string) (have float64, measured bool)
	most float64
	// floor is the contender that does the least of the agent's work; "": there is none.
	floor string
}

var goals = []goal{
	times("cold", "limit", 0.70, "undoable"),
	times("cold", "kops", 0.42, "undoable"),
	times("cold-zstd", "limit", 1.10, "undoable"),
	{"cold-gbit: x wire", func(r *results, who string) (float64, bool) {
		took := r.wall("cold-gbit", who)
		return float64(took) / float64(wire(r.packed)), took > 0
	}, 1.05, "undoable"},
	times("noop", "limit", 1.6, "linked"),
	times("noop", "plain node", 1.05, ""), // a distribution's modules.dep and a runtime must cost nothing
	times("verify", "limit", 1.10, "linked"),
	{"drift: ms more than noop", func(r *results, who string) (float64, bool) {
		drifted, quiet := r.wall("drift", who), r.wall("noop", who)
		return ms(drifted - quiet), drifted > 0 && quiet > 0
	}, 3, ""},
	times("many-1000", "limit", 2.0, "linked"),
	times("many-10000", "limit", 1.5, "linked"),
	times("version", "limit", 2.2, "linked"),
	peak("noop", 24, "linked"),
	peak("cold", 25, "undoable"),
	peak("many-10000", 45, "linked"),
	peak("version", 17, "linked"),
	figure("idle: RSS MB", 28),
	figure("idle: anonymous MB", 8),
	figure("idle, after 10,000 files: RSS MB", 28),
	figure("idle, after 10,000 files: anonymous MB", 8),
	figure("idle: % of a processor", 0.02),
	figure("idle: bytes written", 0),
	figure("poll of nothing new: CPU ms", 1),
	reaction("file", "ms", 2),
	reaction("file", "p99 ms", 5),
	reaction("sysctl, by netconf", "ms", 2),
	reaction("sysctl, by netconf", "p99 ms", 5),
	reaction("sysctl, by inotify", "ms", 2),
	reaction("sysctl, by inotify", "p99 ms", 5),
	reaction("link", "ms", 2),
	reaction("link", "p99 ms", 5),
	reaction("route", "ms", 2),
	reaction("route", "p99 ms", 5),
	{"program: MB", func(r *results, who string) (float64, bool) { return float64(r.size) / 1e6, who == "agent" }, 28, ""},
}

// times compares the wall time in a scenario with another contender's. A peer from outside may
// write its name in any case.
func times(scenario, whose string, most float64, floor string) goal {
	return goal{fmt.Sprintf("%s: x %s", scenario, whose), func(r *results, who string) (float64, bool) {
		ours, theirs := r.wall(scenario, who), r.wall(scenario, whose)
		if theirs == 0 {
			return 0, false
		}
		return float64(ours) / float64(theirs), ours > 0
	}, most, floor}
}

// peak returns the goal of the largest resident size in a scenario.
func peak(scenario string, most float64, floor string) goal {
	return goal{scenario + ": peak MB", func(r *results, who string) (float64, bool) {
		all := r.of(scenario, who)
		return float64(median(all, func(s sample) int64 { return s.Peak })) * 1024 / 1e6, len(all) > 0
	}, most, floor}
}

// figure returns a goal of the daemon.
func figure(name string, most float64) goal {
	return goal{name, func(r *results, who string) (float64, bool) {
		have, measured := r.figures[name]
		return have, measured && who == "agent"
	}, most, ""}
}

// reaction returns the goal of the time until a repair, beside the smallest daemon.
func reaction(kind, unit string, most float64) goal {
	return goal{"reaction: " + kind + ", " + unit, func(r *results, who string) (float64, bool) {
		name := "reaction: " + kind + ", "
		if who != "agent" {
			name += who + ", "
		}
		have, measured := r.figures[name+unit]
		return have, measured
	}, most, "least daemon"}
}

// wall returns the median wall time of the runs that ended well; 0: there are none.
func (r *results) wall(scenario, contender string) time.Duration {
	var all []sample
	for _, s := range r.samples {
		if s.Scenario == scenario && strings.EqualFold(s.Contender, contender) && s.Code == 0 {
			all = append(all, s)
		}
	}
	return median(all, wall)
}

// goals prints each goal, what the agent reaches, what the smallest contender for the same work
// reaches, and which goals are missed.
func (r *results) goals(out *strings.Builder) {
	fmt.Fprintf(out, "\ngoals: medians of this run\n\n| %-38s | %7s | %7s | %7s | %-22s |\n|%s|%s:|%[7]s:|%[7]s:|%s|\n", "", "has", "at most", "floor", "",
		strings.Repeat("-", 40), strings.Repeat("-", 8), strings.Repeat("-", 24))
	short, unknown := 0, 0
	for _, g := range goals {
		have, measured := g.have(r, "agent")
		has, least, verdict := fmt.Sprintf("%.2f", have), "", "reached"
		floor, known := g.have(r, g.floor)
		if known = known && g.floor != ""; known {
			least = fmt.Sprintf("%.2f", floor)
		}
		switch {
		case !measured:
			has, verdict = "", "not measured"
			unknown++
		case have > g.most && known && floor > g.most:
			verdict = fmt.Sprintf("short, %.2f x the floor", have/floor)
			short++
		case have > g.most:
			verdict = fmt.Sprintf("FALLS SHORT, %.2f x", have/g.most)
			short++
		}
		fmt.Fprintf(out, "| %-38s | %7s | %7.2f | %7s | %-22s |\n", g.what, has, g.most, least, verdict)
	}
	fmt.Fprintf(out, "\n%d of %d goals are reached, %d fall short, %d were not measured\n", len(goals)-short-unknown, len(goals), short, unknown)
}
