package firewall

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Chains at hooks get their former rules back. Other chains do so only if they are gone or were
// emptied. What kube-proxy added meanwhile stays. The lines that keep it:
// ruleset_restore_chains.go, all of it.
func TestMendChains(t *testing.T) {
	rules := func(texts ...string) (out []guardedRule) {
		for _, text := range texts {
			r := guardedRule{text: text}
			if len(text) > 3 && text[:3] == "to " {
				r.leads = text[3:]
			}
			out = append(out, r)
		}
		return out
	}
	at := func(policy string, texts ...string) guardedChain {
		return guardedChain{"INPUT", true, policy, rules(texts...)}
	}
	own := func(texts ...string) guardedChain { return guardedChain{"MINE", false, "", rules(texts...)} }
	type chains []guardedChain
	for name, c := range map[string]struct {
		was, now chains
		want     []chainMend
	}{
		"nothing":                        {chains{at("accept", "a")}, chains{at("accept", "a")}, nil},
		"a rule came":                    {chains{at("accept", "a")}, chains{at("accept", "drop", "a")}, []chainMend{{name: "INPUT", write: true, rules: rules("a")}}},
		"a rule of kube-proxy came":      {chains{at("accept", "a")}, chains{at("accept", "to KUBE-X", "a")}, nil},
		"it appended it":                 {chains{at("accept", "a")}, chains{at("accept", "a", "to KUBE-X")}, nil},
		"both":                           {chains{at("accept", "a")}, chains{at("accept", "drop", "a", "to cali-INPUT")}, []chainMend{{name: "INPUT", write: true, rules: rules("a", "to cali-INPUT")}}},
		"a rule of theirs, and one went": {chains{at("accept", "a", "b")}, chains{at("accept", "b", "to cali-INPUT")}, []chainMend{{name: "INPUT", write: true, rules: rules("to cali-INPUT", "a", "b")}}},
		"a jump to a hook's chain":       {chains{at("accept")}, chains{at("accept", "to shut")}, []chainMend{{name: "INPUT", write: true}}},
		"a rule went":                    {chains{at("drop", "a", "b")}, chains{at("drop", "b")}, []chainMend{{name: "INPUT", write: true, rules: rules("a", "b")}}},
		"the policy":                     {chains{at("accept", "a")}, chains{at("drop", "a")}, []chainMend{{name: "INPUT", policy: "accept"}}},
		"the chain went":                 {chains{at("accept", "a")}, nil, []chainMend{{name: "INPUT", create: true, policy: "accept", write: true, rules: rules("a")}}},
		"a chain at a hook came":         {nil, chains{at("drop", "a")}, []chainMend{{name: "INPUT", drop: true}}},
		"it has a rule of Calico's":      {nil, chains{at("drop", "a", "to cali-INPUT")}, []chainMend{{name: "INPUT", policy: "accept", write: true, rules: rules("to cali-INPUT")}}},
		"others write a chain of theirs": {chains{own("a", "b")}, chains{own("b", "c")}, nil},
		"it was emptied":                 {chains{own("a", "b")}, chains{own()}, []chainMend{{name: "MINE", write: true, rules: rules("a", "b")}}},
		"it went":                        {chains{own("a")}, nil, []chainMend{{name: "MINE", create: true, write: true, rules: rules("a")}}},
		"it came":                        {nil, chains{own("a")}, []chainMend{{name: "MINE", drop: true}}},
		"a rule that stays leads to it":  {chains{{name: "T", rules: rules("a")}}, chains{{name: "T", rules: rules("to MINE")}, own("a")}, nil},
	} {
		got := mendChains(c.was, c.now)
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(chainMend{}, guardedRule{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
