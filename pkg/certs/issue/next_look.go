package issue

import "time"

// nextLook returns when a pass should look at the certificate again; zero for no special time.
func (i *issuing) nextLook() time.Time {
	if i.have == nil {
		return time.Time{}
	}
	if p := i.have.Pending; p != nil { // soon at first, because most approvers are programs
		waited := i.now.Sub(p.Since).Abs() // the clock may have been set back since
		return i.now.Add(min(max(pendingLook, waited/10), pendingMost))
	}
	life, err := i.have.validity(i.node)
	if err != nil || !i.now.Before(life.RenewAt) {
		return time.Time{}
	}
	return life.RenewAt
}

// The shortest and the longest pause between two looks at a request. The controller manager removes
// an approved request after an hour (pkg/controller/certificates/cleaner, approvedExpiration).
const (
	pendingLook = 2 * time.Second
	pendingMost = 10 * time.Minute
)
