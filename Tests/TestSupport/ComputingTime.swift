import Foundation

/// The processor time of the calling thread.
///
/// Unlike elapsed time it does not depend on tests that run at the same time.
package func computingTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}
