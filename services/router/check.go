package router

import (
	"fmt"
	"regexp"
	"strings"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

const (
	// maxMessage is the longest message and the longest sub-query in characters.
	maxMessage = 8000
	// maxSpecialists bounds a request's work; no store has that many.
	maxSpecialists = 32
	// maxKeywords bounds a store's keywords.
	maxKeywords = 200
)

var specialistName = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)

// check returns nil or a *fault.Invalid with every violation of the request.
func check(req *routerv1.RouteRequest) error {
	var c fault.Checker
	c.Text("message", req.GetMessage(), 1, maxMessage)
	c.OptionalID("specialists_version", req.GetSpecialistsVersion())
	specialists := req.GetSpecialists()
	if len(specialists) == 0 && req.GetSpecialistsVersion() == "" {
		c.Addf("specialists", "is empty; pass what SpecialistService.Describe returns for each specialist")
	}
	if len(specialists) > maxSpecialists {
		c.Addf("specialists", "has %d entries, must have at most %d", len(specialists), maxSpecialists)
	}
	if n := len(req.GetKeywords()); n > maxKeywords {
		c.Addf("keywords", "has %d entries, must have at most %d", n, maxKeywords)
	}
	seen := map[string]bool{}
	for i, s := range specialists {
		field := fmt.Sprintf("specialists[%d].name", i)
		switch name := s.GetName(); {
		case !specialistName.MatchString(name):
			c.Addf(field, "must be 1 to 64 characters of a-z 0-9 -; pass what SpecialistService.Describe returns")
		case seen[name]:
			c.Addf(field, "%q is there twice; pass what SpecialistService.Describe returns once for each specialist", name)
		default:
			seen[name] = true
		}
		if strings.TrimSpace(s.GetPurpose()) == "" {
			c.Addf(fmt.Sprintf("specialists[%d].purpose", i), "is required; pass what SpecialistService.Describe returns")
		}
	}
	return c.Err()
}
