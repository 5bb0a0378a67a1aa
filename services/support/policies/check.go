package policies

import (
	"regexp"

	policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

const (
	// MaxQuestion bounds a question, in characters.
	MaxQuestion = 1_000
	maxBody     = 100_000 // characters
)

// Check reports every violation of one document as a *fault.Invalid.
func Check(p *policyv1.Policy) error {
	var c fault.Checker
	c.ID("policy_id", p.GetPolicyId())
	c.Text("title", p.GetTitle(), 1, 200)
	c.Text("body", p.GetBody(), 1, maxBody)
	if p.GetBody() != "" && len(split(p)) == 0 {
		c.Addf("body", "must have text beside section titles")
	}
	CheckLanguage(&c, p.GetLanguage())
	c.URL("url", p.GetUrl())
	return c.Err()
}

// languageForm is the outer form of a BCP 47 tag.
var languageForm = regexp.MustCompile(`^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$`)

// CheckLanguage accepts a BCP 47 tag in the field "language", or an empty value.
func CheckLanguage(c *fault.Checker, tag string) {
	if tag != "" && (len(tag) > 35 || !languageForm.MatchString(tag)) {
		c.Addf("language", "must be a BCP 47 tag such as \"en\" or \"de-AT\", or empty")
	}
}
