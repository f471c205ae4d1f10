package house

import (
	"path/filepath"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

// Each rule has a tree testdata/RULE/src of good and bad code. Each bad line names the expected
// complaint.
func TestRules(t *testing.T) {
	const why = "not yet cut"
	uncut["pkg/mended"], uncut["pkg/kept"] = why, why
	manyMethods = map[string]string{"pkg/a.Kept": why, "pkg/mended.Mended": why, "pkg/mended.Absent": why}
	manyFuncs = map[string]string{"pkg/a.Kept": why, "pkg/mended.Mended": why}
	wideStill = map[string]string{"pkg/kept": why, "pkg/mended": why}
	mostFiles, mostLines = 4, 1000
	largeStill = map[string]string{"pkg/kept": why, "pkg/mended": why}
	sharedNames = map[string]string{"Reader": why, "Unique": why}
	fieldsOwn = map[string]string{"pkg/a.keptFile.What": why, "pkg/a.Gone": why}
	wideFields = map[string]string{"Kept": why, "Mended": why, "Absent": why}
	for _, rule := range Rules {
		t.Run(rule.Name, func(t *testing.T) {
			t.Parallel()
			dir, err := filepath.Abs(filepath.Join("testdata", rule.Name))
			if err != nil {
				t.Fatal(err)
			}
			for _, result := range analysistest.Run(t, dir, rule, "./...") {
				if result.Err != nil {
					t.Error(result.Err)
				}
			}
		})
	}
}

// Each rule must have a name for nolint comments and be in a list. Otherwise it would have no
// effect.
func TestRulesAreNamed(t *testing.T) {
	for _, rule := range Rules {
		if rule != NoLint && !isRule(rule.Name) {
			t.Errorf("isRule does not know %s", rule.Name)
		}
	}
}

func TestVerbs(t *testing.T) {
	for format, want := range map[string]string{
		"": "", "%": "", "100%%": "", "%v": "v", "%+v %#x %q": "vxq", "%-*d%s": "*ds", "%*.*f": "**f", "%[1]d": "", "%6.2f|%w": "fw",
	} {
		if got := string(verbs(format)); got != want {
			t.Errorf("verbs of %q are %q, want %q", format, got, want)
		}
	}
}
