import DistantObjects
import Foundation
import TestSupport
import Testing

@Suite("README", .bounded())
struct ReadmeTests {
    @Test("The sender and the receiver of the README work")
    func sample() async {
        await #expect(processExitsWith: .success) {
            // Its path is relative.
            let scratch = try TemporaryFolder()
            try #require(FileManager.default.changeCurrentDirectoryPath(scratch.path))
            let receiving = Task { try await ReadmeCode.receive() }
            var count: Int?
            let deadline = ContinuousClock.now + TestTimeout.wait
            while count == nil {
                do {
                    count = try await ReadmeCode.send()
                } catch let error as ConnectionError where [.transport, .handshakeTimeout].contains(error.code) {
                    // The receiver is not ready yet, or the machine is busy.
                    guard ContinuousClock.now < deadline else { throw error }
                    try await Task.sleep(for: .milliseconds(10))
                }
            }
            #expect(count == 1)
            receiving.cancel()
            try await receiving.value
        }
    }
}
