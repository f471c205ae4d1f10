package report

import (
	"encoding/json"
	"fmt"
	"io"
)

// JSON writes a plan for programs, in the form that [PlanVersion] names.
func JSON(w io.Writer, p *Plan) error {
	p.Version = PlanVersion
	if p.Steps == nil {
		p.Steps = []Step{}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(p); err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	return nil
}
