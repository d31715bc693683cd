package review

import "encoding/json"

type object = map[string]any

// SARIF writes the findings in the form of SARIF 2.1.0, which code hosts show at their lines.
func (r *Report) SARIF(version string) ([]byte, error) {
	results := []object{}
	for _, f := range r.Findings {
		level := "warning"
		switch f.Severity {
		case Critical, High:
			level = "error"
		case Low:
			level = "note"
		case Medium:
		}
		rule := "review"
		if len(f.Aspects) > 0 {
			rule = f.Aspects[0]
		}
		results = append(results, object{
			"ruleId": rule, "level": level, "message": object{"text": f.Title + "\n\n" + f.Detail},
			"locations": []object{{"physicalLocation": object{
				"artifactLocation": object{"uri": f.File}, "region": object{"startLine": max(f.Line, 1)},
			}}},
			"properties": object{"severity": f.Severity, "confidence": f.Confidence, "trace": f.Trace},
		})
	}
	return json.MarshalIndent(object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []object{{
			"tool":    object{"driver": object{"name": "lathe", "version": version, "rules": []object{}}},
			"results": results,
		}},
	}, "", "  ")
}
