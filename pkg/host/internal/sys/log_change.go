package sys

import "go.uber.org/zap"

// Changed logs one operation that changed the host; log may be nil. Its level is debug: the code
// that knows the task logs one line for each change of a pass.
func Changed(log *zap.Logger, what string, fields ...zap.Field) {
	if log != nil {
		log.Debug(what, fields...)
	}
}
