import TestSupport
import Testing

#if os(Linux)
    // The rules about regions for blobs. Those that need no peer are in `StateBlobTests`.
    extension Check {
        static let blobs = [
            Check(
                "a region whose size is no multiple of 64 KiB",
                "Its size is a multiple of 65,536 bytes, from 65,536 to 67,108,864, or", of: .frames
            ) { try await BlobAbuseTests().offersInBlobAbuse(.oddSize) },
            Check("a region that is too large", "from 65,536 to 67,108,864, or", of: .frames) {
                try await BlobAbuseTests().offersInBlobAbuse(.tooLarge)
            },
            Check(
                "a region for blobs that is not sealed", "Such a region is made and checked like those above.",
                of: .frames
            ) { try await BlobAbuseTests().offersInBlobAbuse(.unsealed) },
            Check(
                "two descriptors with an offer", "Anything else that comes with the byte 2 breaks the protocol",
                of: .frames
            ) { try await BlobAbuseTests().offersInBlobAbuse(.two) },
            Check("an offer without an agreement", "so does the byte without an agreement.", of: .frames) {
                try await BlobAbuseTests().offersInBlobAbuse(.notAgreed)
            },
            Check("an offer without its descriptor", "so that both sides count the same offers.", of: .frames) {
                try await BlobAbuseTests().noDescriptorInBlobAbuse()
            },
            Check("bytes of no region", "the region of an entry, of a `Share` 6 or 7 that was not taken") {
                try await BlobAbuseTests().noRegionInBlobAbuse(isReleased: false)
            },
            Check("bytes of a released region", "that was not taken, or that was released;") {
                try await BlobAbuseTests().noRegionInBlobAbuse(isReleased: true)
            },
            Check("bytes that were never mentioned", "more mentions given back than were made, or none;") {
                try StateBlobTests().faults(.givesBackTooMuch)
            },
            Check("a region that is released too early", "a region released before all its mentions are given back.") {
                try StateBlobTests().faults(.releasesUsed)
            },
            Check("bytes that a region does not have", "bytes that the region does not have,") {
                try StateBlobTests().faults(.mentionsBeyond)
            },
            Check("an answer out of turn", "an answer to another offer than the next one;") {
                try StateBlobTests().faults(.answerOutOfTurn)
            },
            Check(
                "offers without an answer",
                "At most 16 offers are not answered at a time; more are an error of reason 6."
            ) {
                try StateBlobTests().faults(.offersTooMany)
            },
            Check("bytes sent back that are given back", "7 for a region whose mentions are all given back;") {
                try StateBlobTests().faults(.sendsBackGivenBack)
            },
            Check("bytes of a refused message", "It gives back those of a message that it refuses, too.") {
                try await BlobAbuseTests().refusedInBlobAbuse()
            },
            Check("what is given back before an answer", "It should give back what a method has let go of before") {
                try StateBlobTests().beforeAnswer()
            },
            Check("more mentions than references", "a message that exceeds it is refused.") {
                try StateBlobTests().manyInStateBlob()
            },
        ]
    }
#else
    extension Check {
        static let blobs: [Check] = []
    }
#endif
