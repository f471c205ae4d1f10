package cli

import (
	"io"
	"slices"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/netwright/netwright/pkg/config/agentfile"
	"github.com/netwright/netwright/pkg/publish"
)

// Logger returns the log of the daemon and of the programs that systemd starts beside it: one line
// for each change. Without a format it writes journald entries with fields where the stream is the
// journal, and text elsewhere.
func Logger(to io.Writer, format string, level zapcore.Level) *zap.Logger {
	text := zapcore.EncoderConfig{
		MessageKey: "msg", LevelKey: "level", LineEnding: "\n", ConsoleSeparator: " ",
		EncodeLevel: zapcore.LowercaseLevelEncoder, EncodeDuration: zapcore.StringDurationEncoder,
		EncodeTime: zapcore.RFC3339NanoTimeEncoder,
	}
	if format == agentfile.LogJSON {
		text.TimeKey = "time"
		return zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(text), zapcore.AddSync(to), level))
	}
	journal := ToJournal(to)
	if !journal { // journald adds times itself
		text.TimeKey = "time"
	}
	lines := zapcore.NewCore(zapcore.NewConsoleEncoder(text), zapcore.AddSync(to), level)
	if format == agentfile.LogText || !journal {
		return zap.New(withoutEmpty{lines})
	}
	text.LevelKey = ""
	core, err := publish.NewJournal(level, zapcore.NewConsoleEncoder(text), lines)
	if err != nil { // log as text instead
		return zap.New(withoutEmpty{lines})
	}
	return zap.New(withoutEmpty{core})
}

// withoutEmpty leaves out the fields whose text is empty: they tell a reader nothing.
type withoutEmpty struct{ zapcore.Core }

func (c withoutEmpty) With(fields []zapcore.Field) zapcore.Core {
	return withoutEmpty{c.Core.With(fields)}
}

func (c withoutEmpty) Check(e zapcore.Entry, to *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if !c.Enabled(e.Level) {
		return to
	}
	return to.AddCore(e, c)
}

func (c withoutEmpty) Write(e zapcore.Entry, fields []zapcore.Field) error {
	empty := func(f zapcore.Field) bool { return f.Type == zapcore.StringType && f.String == "" }
	return c.Core.Write(e, slices.DeleteFunc(slices.Clone(fields), empty))
}
