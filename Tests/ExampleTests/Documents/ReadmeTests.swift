import DistantObjects
import Foundation
import TestSupport
import Testing

@Suite("README")
struct ReadmeTests {
    @Test("The sender and the receiver of the README work")
    func sample() async {
        await #expect(processExitsWith: .success) {
            // Its path is relative.
            let scratch = try TemporaryFolder()
            try #require(FileManager.default.changeCurrentDirectoryPath(scratch.path))
            let receiving = Task { try await ReadmeCode.receive() }
            var count: Int?
            while count == nil {
                do {
                    count = try await ReadmeCode.send()
                } catch let error as ConnectionError where [.transport, .handshakeTimeout].contains(error.code) {
                    // The receiver is not ready yet, or the machine is busy.
                    try await Task.sleep(for: .milliseconds(10))
                }
            }
            #expect(count == 1)
            receiving.cancel()
            try await receiving.value
        }
    }
}
