package drift

import (
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
)

// What pods stand on is never given up: without it they have no network, and a value that is right
// for most of the time helps them more than one that is wrong for an hour.
const (
	PodsPause = 10 * time.Second // at most, between two repairs
	PodsOver  = time.Minute      // that it stood so long ends the conflict
)

// judgePods says whether a key that pods stand on is repaired now. Its pauses grow as those of
// other keys, but never above PodsPause, and it is contested once it was repaired as often as makes
// another key be given up. gone says that who else wrote it is not there any more: then it is
// repaired at once. That is so once in a conflict, for it may have been one process of many.
func (p damping) judgePods(d *ledger.Drift, now time.Time, gone bool) decision {
	last := d.Last()
	passed := now.Sub(last)
	if last.IsZero() || passed < 0 || passed >= PodsOver {
		return decision{repair: true, anew: true}
	}
	pause := PodsPause
	if made := len(d.Recent); made < p.repairs {
		pause = min(pause, p.pause(made))
	}
	early := gone && d.Trials == 0 && passed < pause
	return decision{repair: passed >= pause || early, until: last.Add(pause), contested: p.contestedPods(d),
		retry: early}
}

func (p damping) contestedPods(d *ledger.Drift) bool { return len(d.Recent) >= p.repairs }

// notedPods is what the ledger says of such a key that is repaired now. Of a conflict it keeps when
// it began, and the last repairs of it: it may last for years.
func (p damping) notedPods(was *ledger.Drift, by decision, now time.Time) *ledger.Drift {
	d := ledger.Drift{First: now}
	if was != nil {
		d = *was
	}
	d.Repairs++
	if by.anew {
		d.Trials, d.Recent, d.Writer, d.By = 0, nil, "", host.WriterID{}
	} else if by.retry {
		d.Trials++
	}
	d.Recent = append(slices.Clone(d.Recent), now)
	if more := len(d.Recent) - p.repairs; more > 0 {
		d.Recent = slices.Delete(d.Recent, 1, 1+more)
	}
	return &d
}
