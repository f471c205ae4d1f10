package torture

import (
	"fmt"
	"testing"
)

// recovered starts the agent without a store, as the boot or a daemon would. It returns the sets
// that are neither completely old nor completely new.
func (b *bench) recovered(t testing.TB, s scenario, w want, n int) (broken []string) {
	t.Helper()
	const away = "/srv/away"
	b.shell(t, "mv /srv/netwright "+away)
	defer b.shell(t, "mv "+away+" /srv/netwright")
	args := [][]string{{"recover"}, {"--once"}}[n%2]
	if o := b.run(t, args, pass); (o.Code == 0) != (args[0] == "recover") {
		broken = append(broken, fmt.Sprintf("%s without a store: exit %d\n%s%s", args, o.Code, o.Stdout, o.Stderr))
	}
	for _, half := range mixed(w.before, b.tree(t), w.after, s.sets) {
		broken = append(broken, fmt.Sprintf("after %s without a store: %s", args, half))
	}
	return broken
}
