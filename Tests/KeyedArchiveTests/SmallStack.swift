import Foundation
import TestSupport

/// Runs `body` on a thread with a stack of this size.
///
/// With the address sanitizer, whose frames are larger, the stack is eight times as large.
func onThread(stack: Int, _ body: @escaping @Sendable () throws -> Void) throws {
    nonisolated(unsafe) var failure: (any Error)?
    let done = DispatchSemaphore(value: 0)
    let thread = Thread {
        do { try body() } catch { failure = error }
        done.signal()
    }
    thread.stackSize = Sanitizer.isAddress ? stack * 8 : stack
    thread.start()
    done.wait()
    if let failure { throw failure }
}
