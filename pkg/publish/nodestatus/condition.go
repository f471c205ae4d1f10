package nodestatus

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/generation"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/kube"
	"github.com/netwright/netwright/pkg/report"
)

// Type is the type of the condition.
const Type = "NetworkConverged"

// maxMessage limits the text of the condition and of an Event, in characters.
const maxMessage = 300

// verdict is the condition's status, reason and text.
type verdict struct{ status, reason, text string }

// keyReasons are the reasons of a condition that is false because of a key, the most important
// first.
var keyReasons = []struct {
	state  report.KeyState
	pods   bool
	reason string
}{
	{report.KeyContested, true, "Critical"}, {report.KeyFailing, true, "Critical"},
	{report.KeyDrifted, true, "Critical"}, {report.KeySkipped, true, "Critical"},
	{report.KeyWaiting, true, "Critical"},
	{report.KeyFailing, false, "Failing"}, {report.KeyContested, false, "Contested"},
	{report.KeyDrifted, false, "Drifted"}, {report.KeyWaiting, false, "Waiting"},
}

// judge returns the verdict on the applied configuration. An outage of the store, a pause and a
// newer configuration that waits are only in the text: otherwise an outage of the store would look
// like an outage of all networks.
func judge(s *report.Status) verdict {
	for _, of := range keyReasons {
		if down := s.Down(); down != nil && !of.pods { // worse than any key, except one that pods depend on
			reason := "RuntimeDown"
			if down.Name == "kubelet" {
				reason = "KubeletDown"
			}
			return verdict{kube.False, reason, down.Name + " does not work: " + down.Text}
		}
		if s.Hangs != nil && !of.pods { // the state of the keys is older than that
			return verdict{kube.False, "Failing", s.Hangs.String()}
		}
		for i := range s.Keys {
			if k := &s.Keys[i]; k.State == of.state && k.Pods == of.pods && (k.Pods || k.Because == "") {
				text := k.Key + ": " + k.Text
				if k.Means != "" {
					text = k.Key + ": " + k.Means + ": " + k.Text
				}
				if k.Writer != "" {
					text += "; the other writer is " + k.Writer
				}
				return verdict{kube.False, of.reason, text}
			}
		}
	}
	switch {
	case s.Last != nil && s.Last.Error != "":
		return verdict{kube.False, "Failing", s.Last.Error}
	case len(s.Kinds) == 0: // no pass has planned anything: there is no configuration
		return verdict{kube.False, "Failing", s.Reason}
	case s.Paused != nil:
		return verdict{kube.True, "Paused", "nothing is changed: " + s.Paused.String()}
	case s.Waiting != nil:
		return verdict{kube.True, "ConfigurationWaiting",
			generation.Name(s.Waiting.Generation, s.Waiting.Digest) + " waits: " + s.Waiting.Reason}
	case s.Configuration.Untrusted:
		return verdict{kube.True, "ConfigurationUntrusted",
			"all is as wanted, and what the store has is not trusted: " + s.Configuration.Error}
	case !s.Configuration.Silent.IsZero():
		return verdict{kube.True, "StoreSilent",
			fmt.Sprintf("all is as wanted; the store was not read since %s: %s",
				report.Stamp(s.Configuration.Silent), s.Configuration.Error)}
	case s.Configuration.Error != "":
		return verdict{kube.True, "ConfigurationError",
			"all is as wanted, and the store, or what it has, cannot be used: " + s.Configuration.Error}
	case s.State == report.NodeWaiting:
		return verdict{kube.False, "Waiting",
			cmp.Or(s.Reason, "something is held back: agent status on the node says what")}
	}
	return verdict{kube.True, "Converged", "all is as wanted"}
}

// conditionOf returns the condition for a status. For a daemon that has not looked at the host yet
// it is nil: the condition of the last daemon stays.
func conditionOf(s *report.Status) *kube.Condition {
	if s.State == report.NodeStarting {
		return nil
	}
	v := judge(s)
	if s.Pinned != "" {
		v.text = s.Pinned + "; " + v.text
	}
	return &kube.Condition{Type: Type, Status: v.status, Reason: v.reason,
		Message: short(s.Configuration.Text() + ": " + v.text)}
}

// short returns a text on one line of bounded length.
func short(text string) string {
	line := []rune(strings.Join(strings.Fields(text), " "))
	if len(line) > maxMessage {
		return string(line[:maxMessage-2]) + " …"
	}
	return string(line)
}

// condition is the wanted condition, and the one that the API has.
type condition struct {
	wanted      *kube.Condition
	generation  int64
	published   *kube.Condition // nil: this daemon has published none
	publishedOf int64           // generation
	at          time.Time       // when to publish; zero: nothing is to be published
}

// want sets what to publish, and when.
func (c *condition) want(s *report.Status, now time.Time) {
	wanted := conditionOf(s)
	if wanted == nil {
		return
	}
	same := c.wanted != nil && c.wanted.Status == wanted.Status && c.wanted.Reason == wanted.Reason &&
		c.wanted.Message == wanted.Message
	c.wanted, c.generation = wanted, s.Configuration.Generation
	if same {
		return
	}
	switch t := c.published; {
	case t == nil:
		c.at = now.Add(rand.N(urgent))
	case t.Status != wanted.Status || t.Reason != wanted.Reason:
		c.at = later(now.Add(rand.N(urgent)), t.Seen.Add(spacing))
	case c.publishedOf != c.generation:
		c.at = later(now.Add(rand.N(unhurried)), t.Seen.Add(spacing))
	case t.Message != wanted.Message:
		c.at = later(now, t.Seen.Add(texts))
	default:
		c.at = c.alive()
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// alive returns when the next heartbeat is due.
func (c *condition) alive() time.Time {
	return c.published.Seen.Add(host.Jitter(heartbeat, 0.1))
}

// put publishes the condition. It continues the API's time of the last change, because the daemon
// may have restarted.
func (c *condition) put(ctx context.Context, to Client, node string, now time.Time) error {
	last := c.published
	if last == nil {
		there, err := to.Condition(ctx, node, Type)
		if err != nil {
			return err
		}
		last = there
	}
	next := *c.wanted
	next.Since, next.Seen = now, now
	if last != nil && last.Status == next.Status && !last.Since.IsZero() {
		next.Since = last.Since
	}
	if err := to.SetCondition(ctx, node, next); err != nil {
		return err
	}
	c.published, c.publishedOf = &next, c.generation
	c.at = c.alive()
	return nil
}

// end sets the condition for a daemon that stops.
func (c *condition) end() {
	c.wanted = &kube.Condition{Type: Type, Status: kube.Unknown, Reason: "AgentStopped",
		Message: "the agent has stopped: the network stays as it was, and nothing repairs it"}
}

// fresh reports whether the API has the condition of the present status, except for its text.
func (c *condition) fresh() bool {
	return c.published != nil && c.published.Status == c.wanted.Status && c.published.Reason == c.wanted.Reason &&
		c.publishedOf == c.generation
}
