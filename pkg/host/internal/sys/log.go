package sys

import "go.uber.org/zap"

// Changed logs one operation that changed the host; log may be nil. What a pass changed is logged
// where its task is known, a line each.
func Changed(log *zap.Logger, what string, fields ...zap.Field) {
	if log != nil {
		log.Debug(what, fields...)
	}
}
