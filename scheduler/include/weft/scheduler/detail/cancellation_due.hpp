// cancellationDue(): whether a wait that begins now would be refused because of a cancellation or a scope.
#pragma once

namespace weft::detail {

// True if the calling fiber or a CancelScope around it has been cancelled or the deadline of a DeadlineScope around it
// has passed, unless a CancellationShield is alive. Suspension::park() then returns `cancelled` without a wait. For
// calls that start something before they park, or that need not park. On a plain thread, the scopes only. Any thread.
// Never blocks, allocates or throws.
bool cancellationDue() noexcept;

}  // namespace weft::detail
