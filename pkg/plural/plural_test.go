package plural

import "testing"

func TestOneThingHasNoPlural(t *testing.T) {
	for got, want := range map[string]string{
		Of(0, "key"): "0 keys", Of(1, "key"): "1 key", Of(int64(2), "key"): "2 keys",
		Of(1, "pass", "passes"): "1 pass", Of(2, "pass", "passes"): "2 passes",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
