// Command facts reads again what the networks' rows rest on: for each line of the files in
// pkg/model/network/sources whether the words stand at that line of upstream's file in the commit
// that is named, and where they stand in upstream's newest. It needs checkouts of upstream, which
// the person brings: nothing of them is kept here, and nothing is fetched.
//
//	go run -C tools ./facts -checkouts ~/upstream ../pkg/model/network/sources/*.txt
//
// Such a file has a line with networks (with commas between), a repository of GitHub and a commit,
// and below it lines that begin with a tab and have tabs between: file:line, words that stand
// there, and the facts of those networks' rows that they prove, as the pages on networks print
// them.
//
// A checkout is OWNER/NAME, OWNER+NAME or NAME below that directory, with a work tree or without.
// It prints a line for each difference: `moved` (the words stand at another line now), `gone` (the
// file has them no more: look whether the row is still right) and `wrong` (they do not stand there
// in the commit either). With -write the lines and commits of what stands or moved are those of
// upstream's newest, where nothing of that repository is gone. Exit code 0: nothing is gone or
// wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
)

func main() {
	checkouts := flag.String("checkouts", "", "directory with upstream's repositories")
	write := flag.Bool("write", false, "write the lines and the commit of upstream's newest into the file")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(),
			"facts -checkouts DIR [-write] FILE…: holds the sources of the networks' facts against upstream")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 || *checkouts == "" {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	counts := map[string]int{}
	var err error
	for _, file := range flag.Args() {
		err = errors.Join(err, run(ctx, file, *checkouts, *write, counts, os.Stdout))
	}
	stop()
	fmt.Printf("%d stand, %d moved, %d gone, %d wrong, %d not looked at\n",
		counts["stand"], counts["moved"], counts["gone"], counts["wrong"], counts["not looked at"])
	if err != nil {
		fmt.Fprintln(os.Stderr, "facts:", err)
	}
	if err != nil || counts["gone"]+counts["wrong"] > 0 {
		os.Exit(1)
	}
}

// section is the part of the file that is of one repository at one commit.
type section struct {
	network, repository, commit string
	head                        int   // its line of the file
	cites                       []int // the lines of what it cites
}

// run holds a file against the checkouts, and counts what it finds.
func run(ctx context.Context, file, checkouts string, write bool, counts map[string]int, out io.Writer) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the sources: %w", err)
	}
	lines := strings.Split(string(raw), "\n")
	sections, err := sectionsOf(lines)
	if err != nil {
		return fmt.Errorf("read the sources %s: %w", file, err)
	}
	for _, s := range sections {
		dir, ok := checkoutOf(checkouts, s.repository)
		if !ok {
			counts["not looked at"] += len(s.cites)
			fmt.Fprintf(out, "no checkout\t%s\t%s: %d facts\n", s.network, s.repository, len(s.cites))
			continue
		}
		if err := s.check(ctx, dir, lines, write, counts, out); err != nil {
			return err
		}
	}
	if !write {
		return nil
	}
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		return fmt.Errorf("write the sources: %w", err)
	}
	return nil
}

// sectionsOf finds the sections: a line of three words, then one a citation, which begins with a
// tab.
func sectionsOf(lines []string) ([]section, error) {
	var out []section
	for i, line := range lines {
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case !strings.HasPrefix(line, "\t"):
			words := strings.Fields(line)
			if len(words) != 3 {
				return nil, fmt.Errorf("line %d: want network, repository and commit: %q", i+1, line)
			}
			out = append(out, section{network: words[0], repository: words[1], commit: words[2], head: i})
		case len(out) == 0:
			return nil, fmt.Errorf("line %d: no network before it", i+1)
		default:
			if _, _, _, err := citation(line); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			last := &out[len(out)-1]
			last.cites = append(last.cites, i)
		}
	}
	return out, nil
}

// citation is the file, the line of it and the words there.
func citation(text string) (file string, line int, words string, err error) {
	columns := strings.Split(strings.TrimPrefix(text, "\t"), "\t")
	if len(columns) < 3 {
		return "", 0, "", fmt.Errorf("want file:line, words and facts, with a tab between: %q", text)
	}
	file, number, _ := strings.Cut(columns[0], ":")
	if line, err = strconv.Atoi(number); err != nil && number != "" {
		return "", 0, "", fmt.Errorf("%q is no line's number: %w", number, err)
	}
	return file, line, columns[1], nil
}

func checkoutOf(dir, repository string) (string, bool) {
	for _, name := range []string{repository, strings.ReplaceAll(repository, "/", "+"),
		strings.ReplaceAll(repository, "/", "+") + "/repo", filepath.Base(repository)} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.IsDir() {
			return filepath.Join(dir, name), true
		}
	}
	return "", false
}

// check holds a section against its checkout.
func (s section) check(
	ctx context.Context, dir string, lines []string, write bool, counts map[string]int, out io.Writer,
) error {
	newest, err := git(ctx, dir, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	newest = strings.TrimSpace(newest)
	gone := 0
	for _, at := range s.cites {
		file, line, words, _ := citation(lines[at]) // it was read before
		cited, err := git(ctx, dir, "show", s.commit+":"+file)
		known := err == nil // a shallow checkout has its newest commit alone
		now, err := git(ctx, dir, "show", newest+":"+file)
		place := 0
		if err == nil {
			place = nearest(now, words, line)
		}
		what := "stand"
		switch {
		case known && nearest(cited, words, line) != line && line != 0:
			what = "wrong"
		case place == 0:
			what, gone = "gone", gone+1
		case place != line:
			what = "moved"
		}
		counts[what]++
		if what != "stand" {
			fmt.Fprintf(out, "%s\t%s\t%s %s:%d %q, now at %d\n", what, s.network, s.repository, file, line, words, place)
		}
		if write && place != 0 {
			_, rest, _ := strings.Cut(strings.TrimPrefix(lines[at], "\t"), "\t")
			lines[at] = fmt.Sprintf("\t%s:%d\t%s", file, place, rest)
		}
	}
	if write && gone == 0 {
		lines[s.head] = s.network + " " + s.repository + " " + newest
	}
	return nil
}

// nearest is the line of the text with the words that is nearest to one; 0: none has them.
func nearest(text, words string, to int) int {
	best := 0
	for i, line := range strings.Split(text, "\n") {
		if strings.Contains(line, words) && (best == 0 || abs(i+1-to) < abs(best-to)) {
			best = i + 1
		}
	}
	return best
}

func abs(n int) int { return max(n, -n) }

func git(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s in %s: %w", args[0], dir, err)
	}
	return string(out), nil
}
