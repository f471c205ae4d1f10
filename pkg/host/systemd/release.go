package systemd

import (
	"context"
	"fmt"
)

// release returns the systemd release, such as 252; 0 if unknown.
func (b *Bus) release(ctx context.Context) int {
	said := ""
	_ = b.Property(ctx, managerName, managerPath, managerIface, "Version", &said)
	n := 0
	_, _ = fmt.Sscanf(said, "%d", &n) // such as "252.39-1~deb12u2"
	return n
}
