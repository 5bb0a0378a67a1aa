package main

import (
	"fmt"
	"maps"
	"slices"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
)

// detailLines words one detail of a status for a person.
func detailLines(detail any) []string {
	switch d := detail.(type) {
	case *errdetails.BadRequest:
		var lines []string
		for _, v := range d.GetFieldViolations() {
			lines = append(lines, v.GetField()+": "+v.GetDescription())
		}
		return lines
	case *errdetails.ErrorInfo:
		lines := []string{"reason " + d.GetReason()}
		for _, k := range slices.Sorted(maps.Keys(d.GetMetadata())) {
			lines = append(lines, k+"="+d.GetMetadata()[k])
		}
		return lines
	case *errdetails.RetryInfo:
		return []string{fmt.Sprintf("try again in %v", d.GetRetryDelay().AsDuration())}
	case *errdetails.ResourceInfo:
		return []string{d.GetResourceType() + " " + d.GetResourceName()}
	}
	return nil
}
