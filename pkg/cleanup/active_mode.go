package cleanup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/tasks"
)

// lookAgain is the time until the next look at something that is waited for. No event of the host
// reports it.
const lookAgain = time.Minute

func waitFor(format string, args ...any) error {
	return graph.WaitUntil(fmt.Sprintf(format, args...), time.Now().Add(lookAgain))
}

// ActiveMode checks, by its marks on the node, that a network runs in a mode. The mode is active
// if the node has a mark of it that the former mode does not have.
type ActiveMode struct {
	Selection
	Former  Residue
	Subject string // for example "flannel with backend host-gw"
	Allowed bool   // a person says that the mode is active; a mode without marks needs this
	Allow   string // how a person can say that
}

var _ tasks.Successor = ActiveMode{}

// Active implements [tasks.Successor].
func (m ActiveMode) Active(ctx context.Context, v host.View) error {
	own := m.Selection
	own.Residue = own.Residue.Without(m.Former)
	marks := own.Describe()
	switch {
	case len(marks) == 0 && m.Allowed:
		return nil
	case len(marks) == 0:
		return waitFor("somebody to say that %s is in force: nothing on a node shows it: when its agent here has "+
			"started anew, %s", m.Subject, m.Allow)
	}
	found, err := own.Find(ctx, v)
	if err != nil {
		return fmt.Errorf("look for %s: %w", m.Subject, err)
	}
	former, err := (Selection{Residue: m.Former, Scope: own.Scope}).Find(ctx, v)
	if err != nil {
		return fmt.Errorf("look for what was before %s: %w", m.Subject, err)
	}
	if slices.ContainsFunc(found, func(f tasks.Found) bool { return !slices.Contains(former, f) }) {
		return nil
	}
	return waitFor("%s to be in force: none of its marks is here (%s)", m.Subject, strings.Join(marks, "; "))
}

// Answer checks the mode of a program on this host by asking the program.
type Answer struct {
	Subject string // for example "kube-proxy"
	URL     string
	Want    string // the wanted mode; "": the program must not run here
	// Agents are the names of its containers. They show that the program runs although it does not
	// answer at URL.
	Agents []string
}

var _ tasks.Successor = Answer{}

// Active implements [tasks.Successor].
func (a Answer) Active(ctx context.Context, v host.View) error {
	mode, err := AskMode(ctx, a.URL)
	switch {
	case err == nil && a.Want == "":
		return waitFor("%s to end: it runs here in mode %s, says %s; it is not wanted: delete its DaemonSet, or its "+
			"static pod", a.Subject, mode, a.URL)
	case err == nil && mode != a.Want:
		return waitFor("%s to run in mode %s: %s says that it runs in mode %s", a.Subject, a.Want, a.URL, mode)
	case err == nil:
		return nil
	case a.Want != "":
		return waitFor("%s to say at %s that it runs in mode %s: %v", a.Subject, a.URL, a.Want, err)
	case !errors.Is(err, syscall.ECONNREFUSED):
		return waitFor("%s to end: something listens at its port: %v", a.Subject, err)
	}
	if err := (tasks.Evict{Network: a.Subject, Agents: a.Agents}).Running(ctx, v); err != nil {
		return waitFor("%s to end: %v", a.Subject, err)
	}
	return nil
}

// askTimeout is the time limit for the answer of a program on this host.
const askTimeout = 2 * time.Second

// AskMode asks a program of this host for its mode. The answer is one word, as kube-proxy's at
// /proxyMode. Package verify asks the same way.
func AskMode(ctx context.Context, url string) (mode string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, askTimeout, errors.New("it does not answer in time"))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", fmt.Errorf("ask %s: %w", url, err)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return "", fmt.Errorf("ask for its mode: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s says %s", url, resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64))
	if word := strings.TrimSpace(string(text)); err == nil && word != "" && !strings.ContainsAny(word, " \n") {
		return word, nil
	}
	return "", errors.Join(fmt.Errorf("%s says no mode", url), err)
}
