// Package router decides which specialists should answer which part of a shopper's message.
//
// Rules come first: they split the message into clauses and score each against the words that the specialists publish
// of themselves, in well under a millisecond and without a model. When they are certain of every clause, they decide
// alone. Otherwise their split is sent at once as provisional, and a model makes the final one; when the model fails,
// is late or absent, the rules' split stands. No part of a message is ever dropped on the way.
//
// The rules are pure functions of the message and the request's specialists: a fifth specialist is routed to by its
// published words alone. The package must not import another service, read the environment or keep state between
// requests beside compiled lexicons.
package router
